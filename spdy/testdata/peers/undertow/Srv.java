import io.undertow.*;
import io.undertow.server.*;
import io.undertow.util.*;
import java.net.*;
import java.nio.*;

/** Undertow as a server of spdy/3.1: Srv tls cert.pem key.pem */
public class Srv {
  public static void main(String[] a) throws Exception {
    ServerSocket probe = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"));
    int port = probe.getLocalPort();
    probe.close();
    Undertow.builder().setServerOption(UndertowOptions.ENABLE_SPDY, true).addHttpsListener(port, "127.0.0.1", Keys.server(a[1], a[2])).setHandler(new HttpHandler() {
      public void handleRequest(HttpServerExchange x) throws Exception {
        if (x.isInIoThread()) { x.dispatch(this); return; }
        if (x.getRequestMethod().equals(Methods.POST)) {
          x.startBlocking();
          long n = 0;
          byte[] b = new byte[65536];
          for (int k; (k = x.getInputStream().read(b)) > 0; ) n += k;
          x.getResponseSender().send("got " + n);
          return;
        }
        x.getResponseSender().send(ByteBuffer.wrap(Keys.body(Integer.parseInt(x.getRequestURI().substring(1)))));
      }
    }).build().start();
    System.out.println("listening " + port);
    while (System.in.read() >= 0) { }
    System.exit(0);
  }
}
