package pleach.clients;

/** Assertions of the operators. */
final class Check {
  private Check() {}

  /** Ends the program with an error unless the fact holds. */
  static void that(boolean fact, String what) {
    if (!fact) {
      throw new IllegalStateException("not so: " + what);
    }
  }
}
