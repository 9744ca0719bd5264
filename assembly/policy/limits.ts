/** Hosts that a choice can consider; equals the host directory's bound (a test holds them together). */
export const MAX_CANDIDATES: i32 = 512;
/** Longest list of hosts that a choice gives: one and 16 fallbacks. */
export const MAX_CHOICES: i32 = 17;
