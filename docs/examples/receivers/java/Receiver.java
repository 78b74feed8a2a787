// A receiver of Punctual's webhooks: verifies the signature, drops repeats, answers.
// The JDK's own classes only (17 or later). Run it: WEBHOOK_SECRET=whsec_... PORT=9000 java Receiver.java
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Base64;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Executors;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Receiver {
    static final byte[] SECRET =
        Base64.getDecoder().decode(System.getenv("WEBHOOK_SECRET").replaceFirst("^whsec_", ""));
    static final long TOLERANCE_SECONDS = 300; // an older one may be recorded and sent again
    static final int MAX_BODY = 1024 * 1024;
    static final int MAX_IDS = 100_000;

    // In production a table of your database with webhook-id as its primary key, written in the
    // same transaction as what the request changes: this map does not survive a restart.
    static final Map<String, String> seen = Collections.synchronizedMap(
        new LinkedHashMap<String, String>() {
            @Override
            protected boolean removeEldestEntry(Map.Entry<String, String> oldest) {
                return size() > MAX_IDS;
            }
        });

    static boolean isGenuine(String id, String timestamp, String signatures, byte[] body)
            throws Exception {
        if (!timestamp.matches("[0-9]{1,11}")) return false;
        long age = System.currentTimeMillis() / 1000 - Long.parseLong(timestamp);
        if (Math.abs(age) > TOLERANCE_SECONDS) return false;
        // Of the body exactly as it came: parsing and writing it again changes it.
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(SECRET, "HmacSHA256"));
        mac.update((id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8));
        String right = "v1," + Base64.getEncoder().encodeToString(mac.doFinal(body));
        boolean found = false;
        // During a rotation there are several. isEqual takes the same time however much is right.
        for (String one : signatures.split(" ")) {
            found |= MessageDigest.isEqual(right.getBytes(), one.getBytes());
        }
        return found;
    }

    static void handle(String id, byte[] body) {
        System.out.println("work for " + id + ": " + new String(body, StandardCharsets.UTF_8));
    }

    static int receive(HttpExchange call) throws Exception {
        byte[] body = call.getRequestBody().readNBytes(MAX_BODY + 1);
        String id = header(call, "webhook-id");
        if (body.length > MAX_BODY) return 413;
        if (id.isEmpty() || !isGenuine(id, header(call, "webhook-timestamp"),
                header(call, "webhook-signature"), body)) {
            return 401; // not retried: only Punctual has the secret
        }
        String state = seen.putIfAbsent(id, "working");
        if ("done".equals(state)) return 200; // a repeat; 2xx: Punctual may stop sending it
        if (state != null) return 503; // and not 409: the other call may still fail
        try {
            handle(id, body);
            seen.put(id, "done");
            return 200;
        } finally {
            seen.remove(id, "working"); // it failed: the next attempt has to do it
        }
    }

    static String header(HttpExchange call, String name) {
        String value = call.getRequestHeaders().getFirst(name);
        return value == null ? "" : value;
    }

    static void answer(HttpExchange call) throws IOException {
        int status = 500;
        try {
            status = receive(call);
        } catch (Exception error) {
            System.err.println(error);
        }
        call.sendResponseHeaders(status, -1);
        call.close();
    }

    public static void main(String[] arguments) throws IOException {
        int port = Integer.parseInt(System.getenv().getOrDefault("PORT", "9000"));
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 0);
        server.setExecutor(Executors.newFixedThreadPool(16));
        server.createContext("/", Receiver::answer);
        server.start();
    }
}
