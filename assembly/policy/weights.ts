/** Prices and priors that a choice uses: from the configuration's `cost.*`. */
export class Weights {
  prefillMsPerToken: f64 = 0.055;
  decodeStepMs: f64 = 8;
  decodeMsPerSequence: f64 = 0.25;
  /** Share of others' waiting that is charged to who causes it. */
  othersWait: f64 = 0.2;
  eviction: f64 = 1;
  pressure: f64 = 0.1;
  tieMs: f64 = 5;
  home: f64 = 0;
}
