// The critical section: see ../section.h.
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

final class Section {
  private final Path number;
  private final Path inside;
  private final Path log;
  private final Path go;
  private final char who;

  Section(String file, char who) {
    number = Path.of(file);
    inside = Path.of(file + ".inside");
    log = Path.of(file + ".log");
    go = Path.of(file + ".go");
    this.who = who;
  }

  void awaitGo() throws InterruptedException {
    while (!Files.exists(go)) Thread.sleep(1);
  }

  private boolean enter() throws IOException {
    try {
      Files.createFile(inside);
      return true;
    } catch (FileAlreadyExistsException somebody) {
      return false;
    }
  }

  void goThrough() throws IOException {
    boolean alone = enter();
    try (RandomAccessFile file = new RandomAccessFile(number.toFile(), "rw")) {
      String before = file.readLine();
      Files.write(log, ((alone ? "" : "!") + who).getBytes(StandardCharsets.US_ASCII),
          StandardOpenOption.CREATE, StandardOpenOption.APPEND);
      long count = before == null || before.isEmpty() ? 0 : Long.parseLong(before);
      file.seek(0);
      file.write(String.valueOf(count + 1).getBytes(StandardCharsets.US_ASCII));
    }
    if (alone) Files.delete(inside);
  }
}
