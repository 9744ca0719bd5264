/** What a choice may read of the request. */
export class RequestCost {
  /** Estimated prompt tokens. */
  promptTokens: f64 = 0;
  /** Expected output tokens, over all answers asked for. */
  outputTokens: f64 = 0;
  /** Conversation key: ties fall by rendezvous hash of it, so that all gateways agree. */
  key: u64 = 0;
  /** Usable host slot where the conversation was last, −1 if it is new here. */
  knownSlot: i32 = -1;
  /** Whether the prompt is part of a longer conversation for sure: it holds earlier turns, or its session is named. */
  isContinued: bool = false;
  /** Whether a session id named the conversation. */
  isSession: bool = false;
  /** Tokens of the deepest prefix that any host holds, and how many conversations went separate ways from there. */
  sharedTokens: f64 = 0;
  forks: f64 = 0;
  /** Open requests of this conversation beyond what one may have: so many share what serving it elsewhere costs. */
  crowd: f64 = 0;
  /** Prefill ms of a mean request: what one reported waiting request stands for. */
  meanWorkMs: f64 = 0;
  /** How fast the fleet is, over the priors: the tie term is worth as many tokens on any fleet. */
  speedFactor: f64 = 1;
  /** Share of prompt tokens that were cached lately: what cached tokens are worth. */
  reuseShare: f64 = 0;
}
