/** Why a host was chosen, or what else became of a request. The names are the contract's. */
export const enum Reason {
  Session,
  Prefix,
  Load,
  Cold,
  Fallback,
  Opaque,
  Bypass,
  QueueFull,
  QueueTimeout,
  Deadline,
}
export const REASONS: i32 = 10;
/** From here on they are causes of a 429. */
export const FIRST_REJECTION: i32 = Reason.QueueFull;

/** Name of a reason, as in headers, logs and statistics. */
export function reasonName(reason: i32): string {
  switch (reason) {
    case Reason.Session:
      return "session";
    case Reason.Prefix:
      return "prefix";
    case Reason.Load:
      return "load";
    case Reason.Cold:
      return "cold";
    case Reason.Fallback:
      return "fallback";
    case Reason.Opaque:
      return "opaque";
    case Reason.Bypass:
      return "bypass";
    case Reason.QueueFull:
      return "queue_full";
    case Reason.QueueTimeout:
      return "queue_timeout";
    default:
      return "deadline";
  }
}
