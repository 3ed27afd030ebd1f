// CuratorWorker URL: Curator's InterProcessMutex as a worker of the benchmark; obeys the lines of
// ../common/worker.h.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

final class CuratorWorker {
  private final CuratorFramework client;
  private volatile boolean over;
  private Thread contender;
  private final List<long[]> passes = new ArrayList<>();

  private CuratorWorker(String url) throws Exception {
    client = CuratorFrameworkFactory.newClient(url.substring(url.indexOf("://") + 3), 30_000,
        15_000, new ExponentialBackoffRetry(100, 10));
    client.start();
    if (!client.blockUntilConnected(15, TimeUnit.SECONDS)) throw new Exception("no connection");
  }

  private String pairs(String name, double seconds) throws Exception {
    InterProcessMutex lock = new InterProcessMutex(client, "/" + name);
    long begin = System.nanoTime();
    long end = begin + (long) (seconds * 1e9);
    List<Long> times = new ArrayList<>();
    for (long before = begin; before < end;) {
      lock.acquire();
      lock.release();
      long after = System.nanoTime();
      times.add(after - before);
      before = after;
    }
    double rate = times.size() / ((System.nanoTime() - begin) / 1e9);
    long[] sorted = times.stream().mapToLong(Long::longValue).sorted().toArray();
    return String.format("%.1f %.2f", rate, sorted[sorted.length / 2] / 1e3);
  }

  private String contend(String name, long holdUs, long pauseUs) {
    InterProcessMutex lock = new InterProcessMutex(client, "/" + name);
    over = false;
    passes.clear();
    contender = new Thread(() -> {
      try {
        while (!over) {
          long asked = System.nanoTime();
          lock.acquire();
          long got = System.nanoTime();
          sleep(holdUs);
          long released = System.nanoTime();
          lock.release();
          passes.add(new long[] {asked, got, released});
          sleep(pauseUs);
        }
      } catch (Exception error) {
        fail(error);
      }
    });
    contender.start();
    return "ok";
  }

  private void sleep(long us) throws InterruptedException {
    if (us > 0 && !over) TimeUnit.MICROSECONDS.sleep(us);
  }

  private String stop() throws Exception {
    over = true;
    contender.join();
    StringBuilder text = new StringBuilder();
    text.append(passes.size());
    for (long[] pass : passes) {
      text.append(" 0");
      for (long moment : pass) text.append(' ').append(moment);
    }
    return text.toString();
  }

  private static void fail(Throwable error) {
    System.out.println("failed: " + String.valueOf(error).split("\n")[0]);
    System.exit(1);
  }

  public static void main(String[] arguments) {
    try {
      CuratorWorker worker = new CuratorWorker(arguments[0]);
      System.out.println("ready");
      BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
      for (String line; (line = input.readLine()) != null;) {
        String[] words = line.split(" ");
        System.out.println(switch (words[0]) {
          case "pairs" -> worker.pairs(words[1], Double.parseDouble(words[2]));
          case "contend" ->
            worker.contend(words[1], Long.parseLong(words[3]), Long.parseLong(words[4]));
          case "stop" -> worker.stop();
          default -> "what?";
        });
      }
    } catch (Throwable error) {
      fail(error);
    }
    System.exit(0);
  }
}
