import java.io.*;
import java.net.*;
import java.nio.charset.*;
import java.nio.file.*;
import java.security.*;
import java.security.cert.*;
import java.security.spec.*;
import java.util.*;
import javax.net.ssl.*;
import javax.servlet.http.*;
import org.eclipse.jetty.alpn.server.*;
import org.eclipse.jetty.io.*;
import org.eclipse.jetty.io.ssl.*;
import org.eclipse.jetty.server.*;
import org.eclipse.jetty.server.handler.*;
import org.eclipse.jetty.spdy.api.SPDY;
import org.eclipse.jetty.spdy.server.http.*;
import org.eclipse.jetty.util.log.*;
import org.eclipse.jetty.util.ssl.*;

/** A server of spdy/3 or spdy/2 on Jetty 9.2 that gives what a manifest says: java -Xbootclasspath/a:alpn -cp 'lib/*' ServeJetty.java MANIFEST */
public class ServeJetty {
  static class Answer {
    int status;
    byte[] body;
    List<String[]> fields = new ArrayList<>();

    String field(String name) {
      for (String[] f : fields) if (f[0].equals(name)) return f[1];
      return null;
    }

    /** Reports whether a client has this answer, by the conditions in its request. */
    boolean unchanged(HttpServletRequest asked) {
      String tag = field("etag"), given = asked.getHeader("if-none-match"), since = asked.getHeader("if-modified-since");
      if (status != 200) return false;
      if (given != null) return given.equals("*") || tag != null && given.contains(tag.replaceFirst("^W/", ""));
      return since != null && since.equals(field("last-modified"));
    }

    /** Returns what to send to a client that has this answer. */
    Answer notModified() {
      Answer a = new Answer();
      a.status = 304;
      a.body = new byte[0];
      for (String[] f : fields) {
        boolean date = f[0].equals("last-modified") && field("etag") != null;
        if (!date && !f[0].startsWith("content-")) a.fields.add(f);
      }
      return a;
    }
  }

  static final Map<String, Answer> answers = new HashMap<>();
  static final Answer missing = new Answer();
  static Writer log; // null: none is kept
  static String alpn;

  static long now() {
    var t = java.time.Instant.now();
    return t.getEpochSecond() * 1_000_000_000L + t.getNano();
  }

  static String quote(String s) {
    var b = new StringBuilder("\"");
    for (char c : s.toCharArray()) {
      if (c == '"' || c == '\\') b.append('\\').append(c);
      else if (c < 0x20) b.append(String.format("\\u%04x", (int) c));
      else b.append(c);
    }
    return b.append('"').toString();
  }

  static String at(InetSocketAddress a) { return a.getAddress().getHostAddress() + ":" + a.getPort(); }

  static class Responder extends AbstractHandler {
    public void handle(String path, Request base, HttpServletRequest q, HttpServletResponse w) throws IOException {
      long start = now();
      base.setHandled(true);
      String host = q.getHeader("host") == null ? "" : q.getHeader("host"), method = q.getMethod();
      String target = q.getRequestURI() + (q.getQueryString() == null ? "" : "?" + q.getQueryString());
      Answer a = answers.getOrDefault((method.equals("HEAD") ? "GET" : method) + " " + host.replaceAll(":\\d+$", "") + target, missing);
      if ((method.equals("GET") || method.equals("HEAD")) && a.unchanged(q)) a = a.notModified();
      boolean none = a.status == 204 || a.status == 304;
      byte[] body = none || method.equals("HEAD") ? new byte[0] : a.body;
      w.setStatus(a.status);
      for (String[] f : a.fields) base.getHttpChannel().getResponse().getHttpFields().add(f[0], f[1]); // the servlet API rewrites Content-Type
      if (!none) w.setContentLength(a.body.length);
      boolean sent = false;
      try {
        w.getOutputStream().write(body);
        w.getOutputStream().close();
        sent = true;
      } finally {
        EndPoint end = base.getHttpChannel().getEndPoint();
        if (log != null) {
          SSLSession session = ((SslConnection.DecryptedEndPoint) end).getSslConnection().getSSLEngine().getSession();
          synchronized (log) {
            log.write("{\"start\":" + start + ",\"end\":" + now() + ",\"bytes\":" + (sent ? body.length : 0) + ",\"protocol\":" + quote(alpn)
                + ",\"tls\":" + quote(session.getProtocol()) + ",\"cipher\":" + quote(session.getCipherSuite()) + ",\"method\":" + quote(method)
                + ",\"host\":" + quote(host) + ",\"target\":" + quote(target) + ",\"status\":" + a.status
                + ",\"client\":" + quote(at(end.getRemoteAddress())) + ",\"server\":" + quote(at(end.getLocalAddress())) + "}\n");
            log.flush();
          }
        }
      }
    }
  }

  /** Has a certificate for each host, chosen by the name that the client asks for. Jetty 9.2 itself has one for all. */
  static class Certificates extends X509ExtendedKeyManager {
    final Map<String, X509Certificate[]> chains = new LinkedHashMap<>();
    final Map<String, PrivateKey> keys = new HashMap<>();

    void add(String host, String certificate, String key) throws Exception {
      var all = CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(Files.readAllBytes(Path.of(certificate))));
      chains.put(host, all.toArray(new X509Certificate[0]));
      String text = Files.readString(Path.of(key)).replaceAll("-----[^-]+-----|\\s", "");
      keys.put(host, KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(text))));
    }

    public String chooseEngineServerAlias(String type, Principal[] issuers, SSLEngine e) {
      for (SNIServerName n : ((ExtendedSSLSession) e.getHandshakeSession()).getRequestedServerNames())
        if (n instanceof SNIHostName && keys.containsKey(((SNIHostName) n).getAsciiName())) return ((SNIHostName) n).getAsciiName();
      return chains.keySet().iterator().next();
    }

    public X509Certificate[] getCertificateChain(String alias) { return chains.get(alias); }
    public PrivateKey getPrivateKey(String alias) { return keys.get(alias); }
    public String chooseServerAlias(String type, Principal[] issuers, Socket s) { return null; }
    public String chooseClientAlias(String[] types, Principal[] issuers, Socket s) { return null; }
    public String[] getServerAliases(String type, Principal[] issuers) { return chains.keySet().toArray(new String[0]); }
    public String[] getClientAliases(String type, Principal[] issuers) { return null; }
  }

  public static void main(String[] args) throws Exception {
    missing.status = 404;
    missing.body = "not archived\n".getBytes();
    int port = 0;
    String host = null;
    Answer answer = null;
    var bodies = new HashMap<String, byte[]>();
    var certificates = new Certificates();
    var addresses = new LinkedHashSet<String>();
    for (String line : Files.readAllLines(Path.of(args[0]))) {
      String[] w = line.split("\t", -1);
      switch (w[0]) {
        case "serve":
          alpn = w[1];
          port = Integer.parseInt(w[2]);
          if (!w[3].isEmpty()) log = Files.newBufferedWriter(Path.of(w[3]), StandardCharsets.UTF_8);
          break;
        case "origin":
          host = w[1];
          addresses.add(w[2]);
          certificates.add(host, w[3], w[4]);
          break;
        case "answer":
          answer = new Answer();
          answer.status = Integer.parseInt(w[3]);
          if (!bodies.containsKey(w[5])) bodies.put(w[5], Files.readAllBytes(Path.of(w[5])));
          answer.body = bodies.get(w[5]);
          answers.put(w[1] + " " + host + w[2], answer);
          break;
        case "field":
          answer.fields.add(new String[] {w[1], line.split("\t", 3)[2]});
      }
    }
    var context = SSLContext.getInstance("TLSv1.3");
    context.init(new KeyManager[] {certificates}, null, null);
    context.getServerSessionContext().setSessionCacheSize(1);
    context.getServerSessionContext().setSessionTimeout(1);
    var tls = new SslContextFactory();
    tls.setSslContext(context);
    tls.setIncludeProtocols("TLSv1.3");
    tls.setExcludeProtocols();
    tls.setExcludeCipherSuites();
    var server = new Server();
    var http = new HttpConfiguration();
    short version = alpn.equals("spdy/2") ? SPDY.V2 : SPDY.V3;
    for (String address : addresses) {
      var negotiation = new ALPNServerConnectionFactory(alpn);
      negotiation.setDefaultProtocol(alpn);
      var connector = new ServerConnector(server, new SslConnectionFactory(tls, "alpn"), negotiation,
          new HTTPSPDYServerConnectionFactory(version, http, new PushStrategy.None()));
      connector.setHost(address);
      connector.setPort(port);
      connector.setIdleTimeout(3600_000);
      server.addConnector(connector);
    }
    server.setHandler(new Responder());
    server.setStopAtShutdown(true); // what has been sent is yet to be written down
    server.start();
  }
}
