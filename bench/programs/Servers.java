// Servers of Java: Servers jdk|jetty|netty|undertow|tomcat|grpc plain|stall|think PORT
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

public class Servers {
    static final byte[] BODY = "x".repeat(300).getBytes();

    public static void main(String[] arguments) throws Exception {
        String mode = arguments[1];
        int port = Integer.parseInt(arguments[2]);
        switch (arguments[0]) {
            case "jdk" -> jdk(mode, port);
            case "jetty" -> Jetty.start(mode, port);
            case "undertow" -> Undertows.start(mode, port);
            case "tomcat" -> Tomcats.start(mode, port);
            case "netty" -> Netties.start(mode, port);
            case "grpc" -> Grpcs.start(mode, port);
            default -> throw new IllegalArgumentException(arguments[0]);
        }
    }

    static void write(OutputStream out, String mode) throws IOException {
        out.write(BODY);
        if (mode.equals("plain")) {
            return;
        }
        out.flush();
        try {
            Thread.sleep(mode.equals("think") ? 60 : 1);
        } catch (InterruptedException error) {
            throw new IOException(error);
        }
        out.write(BODY);
    }

    static void jdk(String mode, int port) throws IOException {
        var server = com.sun.net.httpserver.HttpServer.create(new InetSocketAddress(port), 0);
        server.createContext("/", exchange -> {
            exchange.sendResponseHeaders(200, mode.equals("plain") ? BODY.length : 0);
            try (OutputStream out = exchange.getResponseBody()) {
                write(out, mode);
            }
        });
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
    }
}

class Jetty {
    static void start(String mode, int port) throws Exception {
        var server = new org.eclipse.jetty.server.Server();
        var settings = new org.eclipse.jetty.server.HttpConfiguration();
        var connector = new org.eclipse.jetty.server.ServerConnector(
                server,
                new org.eclipse.jetty.server.HttpConnectionFactory(settings),
                new org.eclipse.jetty.http2.server.HTTP2CServerConnectionFactory(settings));
        connector.setPort(port);
        if (mode.equals("stall")) {
            connector.setAcceptedTcpNoDelay(false);
        }
        server.addConnector(connector);
        server.setHandler(new org.eclipse.jetty.server.Handler.Abstract() {
            public boolean handle(
                    org.eclipse.jetty.server.Request request, org.eclipse.jetty.server.Response response, org.eclipse.jetty.util.Callback callback)
                    throws Exception {
                try (OutputStream out = org.eclipse.jetty.server.Response.asBufferedOutputStream(request, response)) {
                    Servers.write(out, mode);
                }
                callback.succeeded();
                return true;
            }
        });
        server.start();
    }
}

class Undertows {
    static void start(String mode, int port) {
        var builder = io.undertow.Undertow.builder()
                .addHttpListener(port, "0.0.0.0")
                .setServerOption(io.undertow.UndertowOptions.ENABLE_HTTP2, true);
        if (mode.equals("stall")) {
            builder.setSocketOption(org.xnio.Options.TCP_NODELAY, false);
        }
        builder.setHandler(new io.undertow.server.handlers.BlockingHandler(exchange -> Servers.write(exchange.getOutputStream(), mode)));
        builder.build().start();
    }
}

class Tomcats {
    static void start(String mode, int port) throws Exception {
        var tomcat = new org.apache.catalina.startup.Tomcat();
        tomcat.setBaseDir(System.getProperty("java.io.tmpdir"));
        tomcat.setPort(port);
        var connector = tomcat.getConnector();
        connector.addUpgradeProtocol(new org.apache.coyote.http2.Http2Protocol());
        if (mode.equals("stall")) {
            connector.setProperty("tcpNoDelay", "false");
        }
        var context = tomcat.addContext("", null);
        org.apache.catalina.startup.Tomcat.addServlet(context, "all", new jakarta.servlet.http.HttpServlet() {
            protected void doGet(jakarta.servlet.http.HttpServletRequest request, jakarta.servlet.http.HttpServletResponse response) throws IOException {
                Servers.write(response.getOutputStream(), mode);
            }
        });
        context.addServletMappingDecoded("/", "all");
        tomcat.start();
        tomcat.getServer().await();
    }
}

class Netties {
    static void start(String mode, int port) throws Exception {
        var group = new io.netty.channel.MultiThreadIoEventLoopGroup(io.netty.channel.nio.NioIoHandler.newFactory());
        var bootstrap = new io.netty.bootstrap.ServerBootstrap().group(group)
                .channel(io.netty.channel.socket.nio.NioServerSocketChannel.class);
        if (mode.equals("stall")) {
            bootstrap.childOption(io.netty.channel.ChannelOption.TCP_NODELAY, false);
        }
        bootstrap.childHandler(new io.netty.channel.ChannelInitializer<io.netty.channel.socket.SocketChannel>() {
            protected void initChannel(io.netty.channel.socket.SocketChannel channel) {
                channel.pipeline().addLast(
                        new io.netty.handler.codec.http.HttpServerCodec(),
                        new io.netty.handler.codec.http.HttpObjectAggregator(65536),
                        new Answer(mode));
            }
        });
        bootstrap.bind(port).sync();
    }

    static class Answer extends io.netty.channel.SimpleChannelInboundHandler<io.netty.handler.codec.http.FullHttpRequest> {
        final String mode;

        Answer(String mode) {
            this.mode = mode;
        }

        protected void channelRead0(io.netty.channel.ChannelHandlerContext context, io.netty.handler.codec.http.FullHttpRequest request) {
            var version = io.netty.handler.codec.http.HttpVersion.HTTP_1_1;
            var status = io.netty.handler.codec.http.HttpResponseStatus.OK;
            var body = io.netty.buffer.Unpooled.wrappedBuffer(Servers.BODY);
            if (mode.equals("plain")) {
                var response = new io.netty.handler.codec.http.DefaultFullHttpResponse(version, status, body);
                response.headers().set("Content-Length", Servers.BODY.length);
                context.writeAndFlush(response);
                return;
            }
            var response = new io.netty.handler.codec.http.DefaultHttpResponse(version, status);
            response.headers().set("Content-Length", Servers.BODY.length);
            context.writeAndFlush(response);
            var content = new io.netty.handler.codec.http.DefaultLastHttpContent(body);
            context.executor().schedule(() -> context.writeAndFlush(content), mode.equals("think") ? 60 : 1, java.util.concurrent.TimeUnit.MILLISECONDS);
        }
    }
}

class Grpcs {
    static void start(String mode, int port) throws Exception {
        var builder = io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder.forPort(port);
        if (mode.equals("stall")) {
            builder.withChildOption(io.grpc.netty.shaded.io.netty.channel.ChannelOption.TCP_NODELAY, false);
        }
        var marshaller = new io.grpc.MethodDescriptor.Marshaller<byte[]>() {
            public java.io.InputStream stream(byte[] value) {
                return new java.io.ByteArrayInputStream(value);
            }

            public byte[] parse(java.io.InputStream stream) {
                try {
                    return stream.readAllBytes();
                } catch (IOException error) {
                    throw new java.io.UncheckedIOException(error);
                }
            }
        };
        var method = io.grpc.MethodDescriptor.newBuilder(marshaller, marshaller)
                .setType(io.grpc.MethodDescriptor.MethodType.UNARY)
                .setFullMethodName("grpc.health.v1.Health/Check").build();
        io.grpc.ServerCallHandler<byte[], byte[]> handler = (call, headers) -> {
            call.request(1);
            return new io.grpc.ServerCall.Listener<byte[]>() {
                public void onHalfClose() {
                    call.sendHeaders(new io.grpc.Metadata());
                    if (!mode.equals("plain")) {
                        try {
                            Thread.sleep(mode.equals("think") ? 60 : 2);
                        } catch (InterruptedException error) {
                            throw new IllegalStateException(error);
                        }
                    }
                    call.sendMessage(new byte[] {8, 1});
                    call.close(io.grpc.Status.OK, new io.grpc.Metadata());
                }
            };
        };
        builder.addService(io.grpc.ServerServiceDefinition.builder("grpc.health.v1.Health").addMethod(method, handler).build());
        builder.build().start();
        Thread.currentThread().join();
    }
}
