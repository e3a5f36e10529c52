// Java's client and server: `java Peer.java serve`, `java Peer.java get URL CLOCK PATH...`. A path is /SIZE.
import com.sun.net.httpserver.*;
import java.io.*;
import java.net.*;
import java.net.http.*;
import java.security.KeyStore;
import java.security.cert.X509Certificate;
import java.time.Instant;
import java.util.Locale;
import java.util.concurrent.Executors;
import javax.net.ssl.*;

public class Peer {
    public static void main(String[] words) throws Exception {
        if (words[0].equals("serve")) {
            serve();
        } else {
            get(words);
        }
    }

    static void serve() throws Exception {
        char[] password = "password".toCharArray();
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(new FileInputStream("pair.p12"), password);
        KeyManagerFactory keys = KeyManagerFactory.getInstance("SunX509");
        keys.init(store, password);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), null, null);
        HttpsServer server = HttpsServer.create(new InetSocketAddress(8443), 100);
        server.setHttpsConfigurator(new HttpsConfigurator(context));
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/", exchange -> {
            int size = Integer.parseInt(exchange.getRequestURI().getPath().substring(1));
            exchange.sendResponseHeaders(200, size == 0 ? -1 : size);
            exchange.getResponseBody().write(new byte[size]);
            exchange.close();
        });
        server.start();
    }

    static void get(String[] words) throws Exception {
        System.setProperty("jdk.internal.httpclient.disableHostnameVerification", "true");
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {new TrustsAll()}, null);
        HttpClient client = HttpClient.newBuilder().sslContext(context).version(HttpClient.Version.HTTP_1_1).build();
        try (PrintWriter clock = new PrintWriter(words[2])) {
            for (int at = 3; at < words.length; at++) {
                HttpRequest request = HttpRequest.newBuilder(URI.create(words[1] + words[at])).build();
                Instant begin = Instant.now();
                long from = System.nanoTime();
                client.send(request, HttpResponse.BodyHandlers.ofByteArray());
                double took = (System.nanoTime() - from) / 1e6;
                // Most of the first is the time that classes take to load.
                String millis = at == 3 ? "-" : String.format(Locale.ROOT, "%.3f", took);
                double second = begin.getEpochSecond() + begin.getNano() / 1e9;
                clock.printf(Locale.ROOT, "%.6f %s%n", second, millis);
            }
        }
        Thread.sleep(200);
        System.exit(0);
    }

    static class TrustsAll extends X509ExtendedTrustManager {
        public void checkClientTrusted(X509Certificate[] chain, String type) {}
        public void checkServerTrusted(X509Certificate[] chain, String type) {}
        public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {}
        public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {}
        public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}
        public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}
        public X509Certificate[] getAcceptedIssuers() { return new X509Certificate[0]; }
    }
}
