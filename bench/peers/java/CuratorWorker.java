// CuratorWorker URL: Curator's InterProcessMutex as a worker, and its InterProcessReadWriteLock.
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.ExponentialBackoffRetry;

final class CuratorWorker extends LockWorker {
  private final CuratorFramework client;

  private CuratorWorker(String url) throws Exception {
    client = CuratorFrameworkFactory.newClient(url.substring(url.indexOf("://") + 3), 30_000,
        15_000, new ExponentialBackoffRetry(100, 10));
    client.start();
    if (!client.blockUntilConnected(15, TimeUnit.SECONDS)) throw new Exception("no connection");
  }

  private static Lock of(InterProcessMutex mutex) {
    return new Lock() {
      @Override
      public void acquire() throws Exception {
        mutex.acquire();
      }

      @Override
      public void release() throws Exception {
        mutex.release();
      }
    };
  }

  @Override
  Lock make(String name) {
    return of(new InterProcessMutex(client, "/" + name));
  }

  @Override
  Lock[] makeMixed(String name) {
    InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, "/" + name);
    return new Lock[] {of(both.readLock()), of(both.writeLock())};
  }

  public static void main(String[] arguments) {
    try {
      new CuratorWorker(arguments[0]).serve();
    } catch (Throwable error) {
      fail(error);
    }
  }
}
