/** What one check found. */
export interface Finding {
  level: "ok" | "warn" | "fail";
  /** The check, in two or three words. */
  name: string;
  /** What is so. */
  says: string;
  /** What to do about it; empty when all is well. */
  remedy: string;
}

export const ok = (name: string, says: string): Finding => ({
  level: "ok",
  name,
  says,
  remedy: "",
});

export const warn = (name: string, says: string, remedy: string): Finding => ({
  level: "warn",
  name,
  says,
  remedy,
});

export const fail = (name: string, says: string, remedy: string): Finding => ({
  level: "fail",
  name,
  says,
  remedy,
});
