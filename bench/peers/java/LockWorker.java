// Shared by the workers in Java: the lines of ../../common/worker.h.
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.LongAdder;

abstract class LockWorker {
  // For one thread at a time.
  interface Lock {
    void acquire() throws Exception;

    void release() throws Exception;
  }

  interface Work {
    void run(int number) throws Exception;
  }

  private volatile boolean over;
  private final List<Thread> contenders = new ArrayList<>();
  private final List<long[]> passes = Collections.synchronizedList(new ArrayList<>());

  abstract Lock make(String name) throws Exception;

  // A reader's and a writer's; nothing if there are none.
  Lock[] makeMixed(String name) throws Exception {
    return null;
  }

  private String pairs(String name, double seconds) throws Exception {
    Lock lock = make(name);
    long begin = System.nanoTime(); // CLOCK_MONOTONIC
    long end = begin + (long) (seconds * 1e9);
    List<Long> times = new ArrayList<>();
    long before = begin;
    while (before < end) {
      lock.acquire();
      lock.release();
      long after = System.nanoTime();
      times.add(after - before);
      before = after;
    }
    Collections.sort(times);
    return String.format("%.1f %.2f", times.size() / ((before - begin) / 1e9),
        times.get(times.size() / 2) / 1e3);
  }

  private String threads(int count, double seconds) throws Exception {
    over = false;
    LongAdder done = new LongAdder();
    List<Thread> threads = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      threads.add(start(i, number -> {
        Lock lock = make("flight-" + number);
        while (!over) {
          lock.acquire();
          lock.release();
          done.increment();
        }
      }));
    }
    Thread.sleep((long) (seconds / 5 * 1e3));
    long before = done.sum();
    long begin = System.nanoTime();
    Thread.sleep((long) (seconds * 1e3));
    double rate = (done.sum() - before) / ((System.nanoTime() - begin) / 1e9);
    over = true;
    for (Thread thread : threads) thread.join();
    return String.format("%.1f", rate);
  }

  private String contend(String name, int count, long holdUs, long pauseUs) {
    over = false;
    passes.clear();
    contenders.clear();
    for (int i = 0; i < count; i++) {
      contenders.add(start(i, number -> {
        Lock lock = make(name);
        while (!over) {
          long asked = System.nanoTime();
          lock.acquire();
          long got = System.nanoTime();
          sleep(holdUs);
          long released = System.nanoTime();
          lock.release();
          passes.add(new long[] {number, asked, got, released});
          sleep(pauseUs);
        }
      }));
    }
    return "ok";
  }

  private String stop() throws Exception {
    over = true;
    for (Thread contender : contenders) contender.join();
    StringBuilder text = new StringBuilder().append(passes.size());
    for (long[] pass : passes) {
      for (long each : pass) text.append(' ').append(each);
    }
    return text.toString();
  }

  private String mix(String name, double seconds, int percent, long holdUs) throws Exception {
    Lock[] both = makeMixed(name);
    if (both == null) return "what?";
    over = false;
    long count = 0;
    long begin = System.nanoTime();
    while (System.nanoTime() - begin < seconds * 1e9) {
      Lock lock = both[ThreadLocalRandom.current().nextInt(100) < percent ? 1 : 0];
      lock.acquire();
      sleep(holdUs);
      lock.release();
      count++;
    }
    return String.format("%.1f", count / ((System.nanoTime() - begin) / 1e9));
  }

  private void sleep(long us) throws InterruptedException {
    if (us > 0 && !over) TimeUnit.MICROSECONDS.sleep(us);
  }

  private static Thread start(int number, Work work) {
    Thread thread = new Thread(() -> {
      try {
        work.run(number);
      } catch (Throwable error) {
        fail(error);
      }
    });
    thread.setDaemon(true);
    thread.start();
    return thread;
  }

  static void fail(Throwable error) {
    System.out.println("failed: " + String.valueOf(error).split("\n")[0]);
    Runtime.getRuntime().halt(1);
  }

  void serve() {
    try {
      System.out.println("ready");
      BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
      for (String line; (line = input.readLine()) != null;) {
        String[] words = line.split(" ");
        System.out.println(switch (words[0]) {
          case "pairs" -> pairs(words[1], Double.parseDouble(words[2]));
          case "threads", "flight" ->
            threads(Integer.parseInt(words[1]), Double.parseDouble(words[2]));
          case "contend" -> contend(words[1], Integer.parseInt(words[2]), Long.parseLong(words[3]),
              Long.parseLong(words[4]));
          case "stop" -> stop();
          case "mix" -> mix(words[1], Double.parseDouble(words[2]), Integer.parseInt(words[3]),
              Long.parseLong(words[4]));
          default -> "what?";
        });
      }
    } catch (Throwable error) {
      fail(error);
    }
    Runtime.getRuntime().halt(0);
  }
}
