/** Prices and priors that a choice uses: from the configuration's `cost.*`. */
export class Weights {
  prefillMsPerToken: f64 = 0.055;
  decodeStepMs: f64 = 8;
  decodeMsPerSequence: f64 = 0.25;
  /** Share of others' waiting that is charged to who causes it. */
  othersWait: f64 = 0.2;
  eviction: f64 = 1;
  kvPressure: f64 = 0.02;
  gpuPressure: f64 = 0.1;
  tieMs: f64 = 5;
  home: f64 = 0;
  /** Share of it that a new conversation pays, 0..1: there is nothing to agree on alone, or with gateways that tell each other. */
  agreement: f64 = 1;
  /** Price of the last host in own order, as a share of the request's prefill ms: what others place meanwhile goes elsewhere. */
  turn: f64 = 0;
}
