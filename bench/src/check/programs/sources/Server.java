// Serves the files of a directory with the JDK's HttpServer, chunked as its documentation shows.
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Executors;

public class Server {
    public static void main(String[] arguments) throws IOException {
        Path directory = Path.of(arguments[1]);
        HttpServer server = HttpServer.create(new InetSocketAddress(Integer.parseInt(arguments[0])), 0);
        server.createContext("/", exchange -> respond(exchange, directory));
        server.setExecutor(Executors.newCachedThreadPool());
        server.start();
    }

    private static void respond(HttpExchange exchange, Path directory) throws IOException {
        String path = exchange.getRequestURI().getPath();
        String name = path.equals("/") ? "index.html" : Path.of(path).getFileName().toString();
        Path file = directory.resolve(name);
        boolean exists = Files.isRegularFile(file);
        byte[] content = exists ? Files.readAllBytes(file) : "not found".getBytes();
        String type = name.endsWith(".html") ? "text/html" : "application/octet-stream";
        exchange.getResponseHeaders().set("Content-Type", type);
        exchange.sendResponseHeaders(exists ? 200 : 404, 0);
        try (OutputStream body = exchange.getResponseBody()) {
            body.write(content);
        }
    }
}
