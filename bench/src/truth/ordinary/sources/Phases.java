// A client of the JDK that tells its phases: `URL COUNT THINK_MS`. Prints as phases.go.
import java.io.IOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Random;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509TrustManager;

class Phases {
    static long now() {
        Instant it = Instant.now();
        return it.getEpochSecond() * 1_000_000_000 + it.getNano();
    }

    /** A socket is made right before it is connected. */
    static class Factory extends SSLSocketFactory {
        final SSLSocketFactory inner;
        Socket last;
        long connects;

        Factory(SSLSocketFactory inner) {
            this.inner = inner;
        }

        Socket made(Socket it) {
            connects = now();
            return last = it;
        }

        public Socket createSocket() throws IOException { return made(inner.createSocket()); }
        public Socket createSocket(Socket socket, String host, int port, boolean closes) throws IOException {
            return last = inner.createSocket(socket, host, port, closes);
        }
        public Socket createSocket(String host, int port) { throw new UnsupportedOperationException(); }
        public Socket createSocket(String host, int port, InetAddress own, int ownPort) { throw new UnsupportedOperationException(); }
        public Socket createSocket(InetAddress host, int port) { throw new UnsupportedOperationException(); }
        public Socket createSocket(InetAddress host, int port, InetAddress own, int ownPort) { throw new UnsupportedOperationException(); }
        public String[] getDefaultCipherSuites() { return inner.getDefaultCipherSuites(); }
        public String[] getSupportedCipherSuites() { return inner.getSupportedCipherSuites(); }
    }

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[1]), think = Integer.parseInt(arguments[2]);
        var anybody = new X509TrustManager() {
            public void checkClientTrusted(X509Certificate[] chain, String type) {}
            public void checkServerTrusted(X509Certificate[] chain, String type) {}
            public X509Certificate[] getAcceptedIssuers() { return new X509Certificate[0]; }
        };
        var context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {anybody}, null);
        var factory = new Factory(context.getSocketFactory());
        HttpsURLConnection.setDefaultHostnameVerifier((host, session) -> true);
        var dice = new Random();
        int[] sizes = {100, 1000, 10000, 100000};
        for (int number = 0; number < count; number++) {
            var url = URI.create(arguments[0] + "/" + sizes[dice.nextInt(4)]).toURL();
            var connection = (HttpsURLConnection) url.openConnection();
            connection.setSSLSocketFactory(factory);
            factory.connects = 0;
            long asks = now();
            try (var body = connection.getInputStream()) {
                body.readAllBytes();
                long ends = now(), begins = factory.connects == 0 ? asks : factory.connects;
                System.out.printf("%d %d %d 0%n", factory.last.getLocalPort(), begins, ends);
            }
            Thread.sleep((long) (-Math.log(1 - dice.nextDouble()) * think));
        }
    }
}
