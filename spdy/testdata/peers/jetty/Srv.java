import java.io.*;
import javax.servlet.http.*;
import org.eclipse.jetty.alpn.server.*;
import org.eclipse.jetty.server.*;
import org.eclipse.jetty.server.handler.*;
import org.eclipse.jetty.spdy.api.SPDY;
import org.eclipse.jetty.spdy.server.http.*;
import org.eclipse.jetty.util.ssl.*;

/** Jetty as a server of spdy/3 and spdy/2: Srv tls cert.pem key.pem */
public class Srv {
  public static void main(String[] a) throws Exception {
    Server s = new Server();
    SslContextFactory f = new SslContextFactory();
    f.setKeyStore(Keys.store(a[1], a[2]));
    f.setKeyStorePassword("changeit");
    f.setIncludeProtocols("TLSv1.2");
    f.setExcludeCipherSuites();
    HttpConfiguration c = new HttpConfiguration();
    ALPNServerConnectionFactory n = new ALPNServerConnectionFactory("spdy/3", "spdy/2", "http/1.1");
    n.setDefaultProtocol("http/1.1");
    ServerConnector k = new ServerConnector(s, new SslConnectionFactory(f, "alpn"), n, new HTTPSPDYServerConnectionFactory(SPDY.V3, c, new PushStrategy.None()),
        new HTTPSPDYServerConnectionFactory(SPDY.V2, c, new PushStrategy.None()), new HttpConnectionFactory(c));
    k.setHost("127.0.0.1");
    s.addConnector(k);
    s.setHandler(new AbstractHandler() {
      public void handle(String t, Request r, HttpServletRequest q, HttpServletResponse w) throws IOException {
        r.setHandled(true);
        if (q.getMethod().equals("POST")) {
          long n = 0;
          byte[] b = new byte[65536];
          for (int i; (i = q.getInputStream().read(b)) > 0; ) n += i;
          w.getOutputStream().write(("got " + n).getBytes());
          return;
        }
        byte[] b = Keys.body(Integer.parseInt(t.substring(1)));
        w.setContentLength(b.length);
        w.getOutputStream().write(b);
      }
    });
    s.start();
    System.out.println("listening " + k.getLocalPort());
    while (System.in.read() >= 0) { }
    System.exit(0);
  }
}
