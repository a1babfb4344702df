import com.squareup.okhttp.*;
import java.security.cert.*;
import java.util.*;
import java.util.concurrent.*;
import javax.net.ssl.*;

/** OkHttp as a client of spdy/3.1: Cli tls port case... */
public class Cli {
  static OkHttpClient h = new OkHttpClient();
  static String base;

  static byte[] fetch(String path, int send) throws Exception {
    Request.Builder b = new Request.Builder().url(base + path);
    if (send > 0) b.post(RequestBody.create(MediaType.parse("text/plain"), new byte[send]));
    Response r = h.newCall(b.build()).execute();
    if (r.protocol() != Protocol.SPDY_3) throw new Exception("over " + r.protocol());
    return r.body().bytes();
  }

  static void size(int n) throws Exception { if (!Arrays.equals(fetch("/" + n, 0), Keys.body(n))) throw new Exception("wrong body"); }

  static void post(int n) throws Exception {
    String s = new String(fetch("/", n));
    if (!s.equals("got " + n)) throw new Exception(s);
  }

  /** Posts to a resource that is answered before the body has been read. */
  static void early(int n) throws Exception { if (!Arrays.equals(fetch("/early", n), Keys.body(100))) throw new Exception("wrong body"); }

  public static void main(String[] a) throws Exception {
    SSLContext c = SSLContext.getInstance("TLS");
    c.init(null, new TrustManager[] {new X509TrustManager() {
      public void checkClientTrusted(X509Certificate[] x, String s) { }
      public void checkServerTrusted(X509Certificate[] x, String s) { }
      public X509Certificate[] getAcceptedIssuers() { return new X509Certificate[0]; }
    }}, null);
    h.setSslSocketFactory(c.getSocketFactory());
    h.setHostnameVerifier((x, s) -> true);
    h.setProtocols(Arrays.asList(Protocol.SPDY_3, Protocol.HTTP_1_1));
    base = "https://127.0.0.1:" + a[1];
    for (int i = 2; i < a.length; i++) {
      try {
        if (a[i].startsWith("early-")) {
          early(Integer.parseInt(a[i].substring(6)));
          Keys.say(a[i], true, null);
          continue;
        }
        switch (a[i]) {
          case "get": size(100); break;
          case "mib": size(1 << 20); break;
          case "mib64": size(64 << 20); break;
          case "post": post(200000); break;
          case "tiny": post(50000); break;
          case "parallel":
            ExecutorService e = Executors.newFixedThreadPool(100);
            List<Future<?>> all = new ArrayList<>();
            for (int k = 0; k < 100; k++) { int n = 1000 + k; all.add(e.submit(() -> { size(n); return null; })); }
            for (Future<?> f : all) f.get();
            break;
          default: throw new Exception("no such case");
        }
        Keys.say(a[i], true, null);
      } catch (Exception e) { Keys.say(a[i], false, e); }
    }
    System.exit(0);
  }
}
