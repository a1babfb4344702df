import io.netty.bootstrap.*;
import io.netty.buffer.*;
import io.netty.channel.*;
import io.netty.channel.nio.*;
import io.netty.channel.socket.nio.*;
import io.netty.handler.codec.http.*;
import io.netty.handler.codec.spdy.*;
import io.netty.handler.ssl.*;
import io.netty.handler.ssl.util.*;
import java.util.*;
import java.util.concurrent.*;

/** Netty as a client of spdy/3.1: Cli tls|plain port case... */
public class Cli {
  static final Map<Integer, CompletableFuture<byte[]>> waiting = new ConcurrentHashMap<>();
  static Channel ch;
  static int next = 1;

  static CompletableFuture<byte[]> fetch(HttpMethod m, String path, int send) {
    FullHttpRequest q = new DefaultFullHttpRequest(HttpVersion.HTTP_1_1, m, path, Unpooled.wrappedBuffer(new byte[send]));
    int id = next;
    next += 2;
    q.headers().set("host", "localhost").setInt(SpdyHttpHeaders.Names.STREAM_ID, id).setInt(SpdyHttpHeaders.Names.PRIORITY, 0).set(SpdyHttpHeaders.Names.SCHEME, "https");
    if (send > 0) q.headers().setInt("content-length", send);
    CompletableFuture<byte[]> f = new CompletableFuture<>();
    waiting.put(id, f);
    ch.writeAndFlush(q).addListener(x -> { if (!x.isSuccess()) f.completeExceptionally(x.cause()); });
    return f;
  }

  static void size(int n) throws Exception {
    if (!Arrays.equals(fetch(HttpMethod.GET, "/" + n, 0).get(60, TimeUnit.SECONDS), Keys.body(n))) throw new Exception("wrong body");
  }

  static void post(int n) throws Exception {
    String s = new String(fetch(HttpMethod.POST, "/", n).get(60, TimeUnit.SECONDS));
    if (!s.equals("got " + n)) throw new Exception(s);
  }

  /** Posts to a resource that is answered before the body has been read. */
  static void early(int n) throws Exception {
    if (!Arrays.equals(fetch(HttpMethod.POST, "/early", n).get(60, TimeUnit.SECONDS), Keys.body(100))) throw new Exception("wrong body");
  }

  public static void main(String[] a) throws Exception {
    boolean plain = a[0].equals("plain");
    SslContext ssl = plain ? null : SslContextBuilder.forClient().sslProvider(SslProvider.JDK).trustManager(InsecureTrustManagerFactory.INSTANCE)
        .applicationProtocolConfig(new ApplicationProtocolConfig(ApplicationProtocolConfig.Protocol.ALPN, ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
            ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT, "spdy/3.1")).build();
    CountDownLatch ready = new CountDownLatch(1);
    ch = new Bootstrap().group(new NioEventLoopGroup(1)).channel(NioSocketChannel.class).handler(new ChannelInitializer<Channel>() {
      void add(ChannelPipeline p) {
        p.addLast(new SpdyFrameCodec(SpdyVersion.SPDY_3_1), new SpdySessionHandler(SpdyVersion.SPDY_3_1, false), new SpdyHttpEncoder(SpdyVersion.SPDY_3_1),
            new SpdyHttpDecoder(SpdyVersion.SPDY_3_1, 1 << 27), new SimpleChannelInboundHandler<FullHttpResponse>() {
              protected void channelRead0(ChannelHandlerContext c, FullHttpResponse r) {
                waiting.remove(r.headers().getInt(SpdyHttpHeaders.Names.STREAM_ID)).complete(ByteBufUtil.getBytes(r.content()));
              }
              public void exceptionCaught(ChannelHandlerContext c, Throwable t) { System.out.println("exception " + t); }
            });
        ready.countDown();
      }
      protected void initChannel(Channel c) {
        if (plain) { add(c.pipeline()); return; }
        c.pipeline().addLast(ssl.newHandler(c.alloc(), "localhost", 443), new ApplicationProtocolNegotiationHandler("none") {
          protected void configurePipeline(ChannelHandlerContext x, String p) { add(x.pipeline()); }
        });
      }
    }).connect("127.0.0.1", Integer.parseInt(a[1])).sync().channel();
    ready.await(10, TimeUnit.SECONDS);
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
            List<CompletableFuture<byte[]>> all = new ArrayList<>();
            for (int k = 0; k < 100; k++) all.add(fetch(HttpMethod.GET, "/" + (1000 + k), 0));
            for (int k = 0; k < 100; k++) if (all.get(k).get(60, TimeUnit.SECONDS).length != 1000 + k) throw new Exception("wrong length");
            break;
          default: throw new Exception("no such case");
        }
        Keys.say(a[i], true, null);
      } catch (Exception e) { Keys.say(a[i], false, e); }
    }
    System.exit(0);
  }
}
