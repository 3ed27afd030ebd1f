// RedissonWorker lock|fair|fenced URL: Redisson's RLock, RFairLock or RFencedLock as a worker, and its
// RReadWriteLock.
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

final class RedissonWorker extends LockWorker {
  private final RedissonClient client;
  private final String kind;

  private RedissonWorker(String kind, String url) {
    this.kind = kind;
    Config config = new Config();
    config.useSingleServer().setAddress(url);
    client = Redisson.create(config);
  }

  private static Lock of(RLock lock) {
    return new Lock() {
      @Override
      public void acquire() {
        lock.lock();
      }

      @Override
      public void release() {
        lock.unlock();
      }
    };
  }

  @Override
  Lock make(String name) {
    return of(switch (kind) {
      case "lock" -> client.getLock(name);
      case "fair" -> client.getFairLock(name);
      case "fenced" -> client.getFencedLock(name);
      default -> throw new IllegalArgumentException(kind);
    });
  }

  @Override
  Lock[] makeMixed(String name) {
    if (!kind.equals("lock")) return null;
    RReadWriteLock both = client.getReadWriteLock(name);
    return new Lock[] {of(both.readLock()), of(both.writeLock())};
  }

  public static void main(String[] arguments) {
    try {
      new RedissonWorker(arguments[0], arguments[1]).serve();
    } catch (Throwable error) {
      fail(error);
    }
  }
}
