import java.io.*;
import java.nio.file.*;
import java.security.*;
import java.security.cert.*;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.net.ssl.*;

/** The test's certificate and key, and a body that both sides can make. */
public class Keys {
  static final char[] PASSWORD = "changeit".toCharArray();

  static KeyStore store(String cert, String key) throws Exception {
    String pem = Files.readString(Path.of(key)).replaceAll("-----[A-Z ]+-----|\\s", "");
    PrivateKey k = KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(pem)));
    KeyStore s = KeyStore.getInstance("PKCS12");
    s.load(null, null);
    try (InputStream in = new FileInputStream(cert)) {
      s.setKeyEntry("k", k, PASSWORD, new java.security.cert.Certificate[] {CertificateFactory.getInstance("X.509").generateCertificate(in)});
    }
    return s;
  }

  static SSLContext server(String cert, String key) throws Exception {
    KeyManagerFactory f = KeyManagerFactory.getInstance("SunX509");
    f.init(store(cert, key), PASSWORD);
    SSLContext c = SSLContext.getInstance("TLS");
    c.init(f.getKeyManagers(), null, null);
    return c;
  }

  static final java.util.Map<Integer, byte[]> bodies = new java.util.concurrent.ConcurrentHashMap<>();

  static byte[] body(int n) { return bodies.computeIfAbsent(n, Keys::make); }

  static byte[] make(int n) {
    byte[] b = new byte[n];
    for (int i = 0; i < n; i++) b[i] = (byte) (i * 7 + (i >> 8) * 13 + (i >> 16) * 31);
    return b;
  }

  static void say(String name, boolean ok, Object why) {
    System.out.println("case " + name + (ok ? " ok" : " failed " + why));
  }
}
