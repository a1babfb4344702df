import io.netty.bootstrap.*;
import io.netty.buffer.*;
import io.netty.channel.*;
import io.netty.channel.nio.*;
import io.netty.channel.socket.nio.*;
import io.netty.handler.codec.http.*;
import io.netty.handler.codec.spdy.*;
import io.netty.handler.ssl.*;
import java.io.*;
import java.net.*;

/** Netty as a server of spdy/3.1: Srv tls|plain cert.pem key.pem */
public class Srv {
  static class Handler extends SimpleChannelInboundHandler<FullHttpRequest> {
    protected void channelRead0(ChannelHandlerContext c, FullHttpRequest q) {
      byte[] b = q.method() == HttpMethod.POST ? ("got " + q.content().readableBytes()).getBytes() : Keys.body(Integer.parseInt(q.uri().substring(1)));
      if (b.length > 1 << 20) { large(c, q, b); return; }
      FullHttpResponse r = new DefaultFullHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK, Unpooled.wrappedBuffer(b));
      r.headers().set("content-type", "application/octet-stream").setInt("content-length", b.length);
      r.headers().set(SpdyHttpHeaders.Names.STREAM_ID, q.headers().get(SpdyHttpHeaders.Names.STREAM_ID));
      c.writeAndFlush(r);
    }
    /** A frame holds 16 MB at most, and Netty makes one of each piece of content. */
    void large(ChannelHandlerContext c, FullHttpRequest q, byte[] b) {
      HttpResponse r = new DefaultHttpResponse(HttpVersion.HTTP_1_1, HttpResponseStatus.OK);
      r.headers().set("content-type", "application/octet-stream").setInt("content-length", b.length);
      r.headers().set(SpdyHttpHeaders.Names.STREAM_ID, q.headers().get(SpdyHttpHeaders.Names.STREAM_ID));
      c.write(r);
      for (int i = 0; i < b.length; i += 1 << 20) c.write(new DefaultHttpContent(Unpooled.wrappedBuffer(b, i, Math.min(1 << 20, b.length - i))));
      c.writeAndFlush(LastHttpContent.EMPTY_LAST_CONTENT);
    }
    public void exceptionCaught(ChannelHandlerContext c, Throwable t) { System.out.println("exception " + t); c.close(); }
  }

  static void spdy(ChannelPipeline p) {
    p.addLast(new SpdyFrameCodec(SpdyVersion.SPDY_3_1), new SpdySessionHandler(SpdyVersion.SPDY_3_1, true),
        new SpdyHttpEncoder(SpdyVersion.SPDY_3_1), new SpdyHttpDecoder(SpdyVersion.SPDY_3_1, 1 << 27), new SpdyHttpResponseStreamIdHandler(), new Handler());
  }

  public static void main(String[] a) throws Exception {
    boolean plain = a[0].equals("plain");
    SslContext ssl = plain ? null : SslContextBuilder.forServer(new File(a[1]), new File(a[2])).sslProvider(SslProvider.JDK)
        .applicationProtocolConfig(new ApplicationProtocolConfig(ApplicationProtocolConfig.Protocol.ALPN, ApplicationProtocolConfig.SelectorFailureBehavior.NO_ADVERTISE,
            ApplicationProtocolConfig.SelectedListenerFailureBehavior.ACCEPT, "spdy/3.1")).build();
    Channel ch = new ServerBootstrap().group(new NioEventLoopGroup()).channel(NioServerSocketChannel.class).childHandler(new ChannelInitializer<Channel>() {
      protected void initChannel(Channel c) {
        if (plain) { spdy(c.pipeline()); return; }
        c.pipeline().addLast(ssl.newHandler(c.alloc()), new ApplicationProtocolNegotiationHandler("none") {
          protected void configurePipeline(ChannelHandlerContext x, String proto) { spdy(x.pipeline()); }
        });
      }
    }).bind("127.0.0.1", 0).sync().channel();
    System.out.println("listening " + ((InetSocketAddress) ch.localAddress()).getPort());
    while (System.in.read() >= 0) { }
    System.exit(0);
  }
}
