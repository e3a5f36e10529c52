// The JDK's client: `URL COUNT THINK_MS IDLE_MS`.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.security.cert.X509Certificate;
import java.util.Random;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;

class Client {
    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[1]), think = Integer.parseInt(arguments[2]);
        int idle = Integer.parseInt(arguments[3]);
        var anybody = new X509ExtendedTrustManager() {
            public void checkClientTrusted(X509Certificate[] chain, String type) {}
            public void checkServerTrusted(X509Certificate[] chain, String type) {}
            public void checkClientTrusted(X509Certificate[] chain, String type, java.net.Socket socket) {}
            public void checkServerTrusted(X509Certificate[] chain, String type, java.net.Socket socket) {}
            public void checkClientTrusted(X509Certificate[] chain, String type, javax.net.ssl.SSLEngine engine) {}
            public void checkServerTrusted(X509Certificate[] chain, String type, javax.net.ssl.SSLEngine engine) {}
            public X509Certificate[] getAcceptedIssuers() { return new X509Certificate[0]; }
        };
        var context = SSLContext.getInstance("TLS");
        context.init(null, new TrustManager[] {anybody}, null);
        var client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).sslContext(context).build();
        var dice = new Random();
        int[] sizes = {100, 1000, 10000, 100000};
        for (int number = 0; number < count; number++) {
            var uri = URI.create(arguments[0] + "/" + sizes[dice.nextInt(4)]);
            client.send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofByteArray());
            Thread.sleep(dice.nextInt(20) == 0 ? idle : (long) (-Math.log(1 - dice.nextDouble()) * think));
        }
    }
}
