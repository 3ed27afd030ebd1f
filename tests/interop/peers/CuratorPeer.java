// CuratorPeer URL: Curator's InterProcessMutex and InterProcessReadWriteLock, driven by lines on
// stdin (../README.md has the list).
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.KeeperException;

final class CuratorPeer {
  private static final int SECTIONS_TTL_MS = 6_000;
  private static final int CONNECT_MS = 15_000;

  private final String servers;
  // A ttl is a session's timeout here, so each has a session of its own.
  private final Map<Integer, CuratorFramework> clients = new HashMap<>();
  private InterProcessMutex held;
  private Node node;

  // The locks that it holds, to ask the server about.
  private record Node(CuratorFramework client, String path) {}

  private CuratorPeer(String url) throws Exception {
    servers = url.substring(url.indexOf("://") + 3);
  }

  private CuratorFramework client(int ttlMs) throws Exception {
    CuratorFramework client = clients.get(ttlMs);
    if (client != null) return client;
    client = CuratorFrameworkFactory.newClient(
        servers, ttlMs, CONNECT_MS, new ExponentialBackoffRetry(100, 10));
    client.start();
    if (!client.blockUntilConnected(CONNECT_MS, TimeUnit.MILLISECONDS)) {
      throw new IOException("no connection to " + servers);
    }
    clients.put(ttlMs, client);
    return client;
  }

  private String obey(String[] words) throws Exception {
    switch (words[0]) {
      case "acquire": return take(words, "mutex", true);
      case "try": return take(words, "mutex", false);
      case "shared": return take(words, "read", true);
      case "try_shared": return take(words, "read", false);
      case "write": return take(words, "write", true);
      case "try_write": return take(words, "write", false);
      case "release": return release();
      case "renew": return isThere() ? "ok" : "not_held";
      case "queue": return queue(words[1]);
      case "sections": return sections(words[1], words[2], Integer.parseInt(words[3]), "mutex");
      case "write_sections":
        return sections(words[1], words[2], Integer.parseInt(words[3]), "write");
      default: return "what?";
    }
  }

  private static InterProcessMutex lock(CuratorFramework client, String kind, String name) {
    String path = "/" + name;
    switch (kind) {
      case "read": return new InterProcessReadWriteLock(client, path).readLock();
      case "write": return new InterProcessReadWriteLock(client, path).writeLock();
      default: return new Named(client, path);
    }
  }

  // InterProcessMutex keeps the path of its node for those who extend it.
  private static final class Named extends InterProcessMutex {
    Named(CuratorFramework client, String path) { super(client, path); }
    String node() { return getLockPath(); }
  }

  private String take(String[] words, String kind, boolean wait) throws Exception {
    CuratorFramework client = client(Integer.parseInt(words[2]));
    InterProcessMutex lock = lock(client, kind, words[1]);
    if (wait) {
      lock.acquire();
    } else if (!lock.acquire(0, TimeUnit.MILLISECONDS)) {
      return "busy";
    }
    held = lock;
    node = lock instanceof Named named ? new Node(client, named.node()) : null;
    return "granted";
  }

  private String release() throws Exception {
    String answer = isThere() ? "ok" : "not_held";
    held.release();
    return answer;
  }

  private boolean isThere() throws Exception {
    return node == null || node.client().checkExists().forPath(node.path()) != null;
  }

  // How many hold it or wait for it, whoever they are.
  private String queue(String name) throws Exception {
    try {
      return String.valueOf(client(SECTIONS_TTL_MS).getChildren().forPath("/" + name).size());
    } catch (KeeperException.NoNodeException nobody) {
      return "0";
    }
  }

  private String sections(String name, String file, int count, String kind) throws Exception {
    InterProcessMutex lock = lock(client(SECTIONS_TTL_MS), kind, name);
    Section section = new Section(file, 'c');
    section.awaitGo();
    int failures = 0;
    for (int i = 0; i < count; ++i) {
      lock.acquire();
      section.goThrough();
      try {
        lock.release();
      } catch (Exception error) {
        ++failures;
      }
    }
    return "done " + failures;
  }

  public static void main(String[] arguments) {
    try {
      CuratorPeer peer = new CuratorPeer(arguments[0]);
      peer.client(SECTIONS_TTL_MS);
      System.out.println("ready");
      BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
      for (String line; (line = input.readLine()) != null;) {
        System.out.println(peer.obey(line.split(" ")));
      }
      peer.clients.values().forEach(CuratorFramework::close);
    } catch (Throwable error) {
      System.out.println("failed: " + String.valueOf(error).split("\n")[0]);
      System.exit(1);
    }
    System.exit(0); // Whatever threads the client has left.
  }
}
