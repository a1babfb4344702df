import io.netty.bootstrap.*;
import io.netty.buffer.*;
import io.netty.channel.*;
import io.netty.channel.nio.*;
import io.netty.channel.socket.nio.*;
import io.netty.handler.codec.http.*;
import io.netty.handler.codec.spdy.*;
import io.netty.handler.ssl.*;
import io.netty.util.*;
import java.io.*;
import java.net.*;
import java.nio.charset.*;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.TimeUnit;

/** A server of spdy/3.1 on Netty that gives what a manifest says: java -cp 'lib/*' Serve.java MANIFEST */
public class Serve {
  static class Answer {
    HttpResponseStatus status;
    byte[] body;
    HttpHeaders fields = new DefaultHttpHeaders(false);

    /** Reports whether a client has this answer, by the conditions in its request. */
    boolean unchanged(HttpHeaders asked) {
      String tag = fields.get("etag", ""), given = asked.get("if-none-match"), since = asked.get("if-modified-since");
      if (status.code() != 200) return false;
      if (given != null) return given.equals("*") || !tag.isEmpty() && given.contains(tag.replaceFirst("^W/", ""));
      return since != null && since.equals(fields.get("last-modified"));
    }

    /** Returns what to send to a client that has this answer. */
    Answer notModified() {
      Answer a = new Answer();
      a.status = HttpResponseStatus.NOT_MODIFIED;
      a.body = new byte[0];
      for (var f : fields) {
        boolean date = f.getKey().equals("last-modified") && fields.contains("etag");
        if (!date && !f.getKey().startsWith("content-")) a.fields.add(f.getKey(), f.getValue());
      }
      return a;
    }
  }

  static final Map<String, Answer> answers = new HashMap<>();
  static Writer log; // null: none is kept

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

  static class Handler extends SimpleChannelInboundHandler<FullHttpRequest> {
    protected void channelRead0(ChannelHandlerContext c, FullHttpRequest q) throws IOException {
      long start = now();
      String host = q.headers().get("host", ""), method = q.method().name(), target = q.uri();
      Answer a = answers.getOrDefault((method.equals("HEAD") ? "GET" : method) + " " + host.replaceAll(":\\d+$", "") + target, missing);
      if ((method.equals("GET") || method.equals("HEAD")) && a.unchanged(q.headers())) a = a.notModified();
      boolean none = a.status.code() == 204 || a.status.code() == 304, bare = none || method.equals("HEAD");
      byte[] body = bare ? new byte[0] : a.body;
      HttpResponse r = new DefaultHttpResponse(HttpVersion.HTTP_1_1, a.status, false);
      r.headers().add(a.fields);
      if (!none) r.headers().setInt("content-length", a.body.length);
      r.headers().set(SpdyHttpHeaders.Names.STREAM_ID, q.headers().get(SpdyHttpHeaders.Names.STREAM_ID));
      var session = c.pipeline().get(SslHandler.class).engine().getSession();
      String rest = log == null ? "" : ",\"protocol\":\"spdy/3.1\",\"tls\":" + quote(session.getProtocol()) + ",\"cipher\":" + quote(session.getCipherSuite())
          + ",\"method\":" + quote(method) + ",\"host\":" + quote(host) + ",\"target\":" + quote(target) + ",\"status\":" + a.status.code()
          + ",\"client\":" + quote(at(c.channel().remoteAddress())) + ",\"server\":" + quote(at(c.channel().localAddress())) + "}\n";
      c.write(r);
      // Netty makes one frame of each piece of content, as far as the window allows.
      for (int i = 0; i < body.length; i += 1 << 16) c.write(new DefaultHttpContent(Unpooled.wrappedBuffer(body, i, Math.min(1 << 16, body.length - i))));
      c.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT).addListener(sent -> {
        if (log == null) return;
        synchronized (log) {
          log.write("{\"start\":" + start + ",\"end\":" + now() + ",\"bytes\":" + (sent.isSuccess() ? body.length : 0) + rest);
          log.flush();
        }
      });
    }

    public void exceptionCaught(ChannelHandlerContext c, Throwable t) { c.close(); }
  }

  static final Answer missing = new Answer();

  static String at(SocketAddress a) {
    var i = (InetSocketAddress) a;
    return i.getAddress().getHostAddress() + ":" + i.getPort();
  }

  public static void main(String[] args) throws Exception {
    missing.status = HttpResponseStatus.NOT_FOUND;
    missing.body = "not archived\n".getBytes();
    int port = 0;
    String host = null;
    Answer answer = null;
    var bodies = new HashMap<String, byte[]>();
    var contexts = new LinkedHashMap<String, SslContext>();
    var addresses = new LinkedHashSet<String>();
    for (String line : Files.readAllLines(Path.of(args[0]))) {
      String[] w = line.split("\t", -1);
      switch (w[0]) {
        case "serve":
          port = Integer.parseInt(w[2]);
          if (!w[3].isEmpty()) log = Files.newBufferedWriter(Path.of(w[3]), StandardCharsets.UTF_8);
          break;
        case "origin":
          host = w[1];
          addresses.add(w[2]);
          contexts.put(host, SslContextBuilder.forServer(new File(w[3]), new File(w[4])).sslProvider(SslProvider.JDK).protocols("TLSv1.3")
              .sessionCacheSize(1).sessionTimeout(1)
              .applicationProtocolConfig(new ApplicationProtocolConfig(ApplicationProtocolConfig.Protocol.ALPN,
                  ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE, ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT, "spdy/3.1")).build());
          break;
        case "answer":
          answer = new Answer();
          answer.status = HttpResponseStatus.valueOf(Integer.parseInt(w[3]));
          if (!bodies.containsKey(w[5])) bodies.put(w[5], Files.readAllBytes(Path.of(w[5])));
          answer.body = bodies.get(w[5]);
          answers.put(w[1] + " " + host + w[2], answer);
          break;
        case "field":
          answer.fields.add(w[1], line.split("\t", 3)[2]);
      }
    }
    var byName = new DomainNameMappingBuilder<SslContext>(contexts.values().iterator().next());
    contexts.forEach(byName::add);
    var names = byName.build();
    var group = new NioEventLoopGroup(1);
    // What has been sent is yet to be written down.
    Runtime.getRuntime().addShutdownHook(new Thread(() -> group.shutdownGracefully(0, 1, TimeUnit.SECONDS).awaitUninterruptibly()));
    for (String address : addresses) {
      new ServerBootstrap().group(group).channel(NioServerSocketChannel.class).childHandler(new ChannelInitializer<Channel>() {
        protected void initChannel(Channel c) {
          c.pipeline().addLast(new SniHandler(names), new ApplicationProtocolNegotiationHandler("none") {
            protected void configurePipeline(ChannelHandlerContext x, String protocol) {
              x.pipeline().addLast(new SpdyFrameCodec(SpdyVersion.SPDY_3_1), new SpdySessionHandler(SpdyVersion.SPDY_3_1, true),
                  new SpdyHttpEncoder(SpdyVersion.SPDY_3_1), new SpdyHttpDecoder(SpdyVersion.SPDY_3_1, 1 << 27), new SpdyHttpResponseStreamIdHandler(), new Handler());
            }
          });
        }
      }).bind(address, port).sync();
    }
  }
}
