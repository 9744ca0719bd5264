import { AnswerError } from "../../body/answererror";
import { RoutingMode } from "../../config/config";
import { BufferType, getPiece } from "../../host/buffers";
import { nowMs } from "../../host/clock";
import { outLen, outPtr } from "../../host/memory";
import { getProperty, path } from "../../host/properties";
import { Reason } from "../../policy/reason";
import { FailureCause } from "../../state/hostrecord";
import { AnswerHead } from "./answerhead";
import { Core } from "../core";
import { pushBack } from "../admission/pushback";
import { Waiting } from "../admission/waiting";
import { Explain } from "../choice/explain";
import { Peering } from "../peers/peering";
import { Reports } from "../polling/reports";
import { Dispatcher } from "../request/dispatch";
import { Pool } from "../request/pool";
import { isFromUpstream, isUpstreamsFault, wasReset } from "./codedetails";
import { Feedback } from "./feedback";
import { Heed } from "./heed";
import { ELSEWHERE, NOBODY, Origin } from "./origin";
import { Naming } from "./naming";
import { Refusals } from "./refusals";
import { Phase, Stream } from "../stream";

const ATTEMPTS = path("upstream", "request_attempt_count");
/** Tries of one request: more than any policy allows. */
const MAX_TRIES: u64 = 1000;
/** A day: no answer takes longer, ms. */
const MAX_TTFT_MS: f64 = 86_400_000;

/** The answer's way back: who served, was it well, when did tokens come, what did it cost. */
export class Answers {
  private head: AnswerHead = new AnswerHead();
  private refusals: Refusals;
  private feedback: Feedback;
  private naming: Naming;
  private heed: Heed;
  private origin: Origin;
  /** Takes the load reports that answers carry; set with each configuration. */
  reports: Reports | null = null;

  constructor(
    private core: Core,
    private pool: Pool,
    private dispatcher: Dispatcher,
    private waiting: Waiting,
    private explain: Explain,
    private peering: Peering,
  ) {
    this.feedback = new Feedback(core);
    this.naming = new Naming(core, peering);
    this.heed = new Heed(core);
    this.origin = new Origin(core);
    this.refusals = new Refusals(core);
  }

  /** The answer's headers: who sent it, and whether the choice held. */
  headers(stream: Stream, endOfStream: bool): void {
    const core = this.core;
    if (stream.phase == Phase.Passing) {
      this.countTries();
      if (this.core.config.debugHeaders) this.explain.respond(stream, isFromUpstream());
      return;
    }
    const served = stream.served;
    const head = this.head;
    head.read();
    served.status = head.status;
    served.eventStream = head.isEventStream;
    const local = served.status >= 400 && !isFromUpstream();
    served.isLocal = local;
    const actual = local ? NOBODY : this.origin.find();
    this.settle(stream, actual);
    if (local) {
      this.countTries();
      if (served.slot >= 0 && isUpstreamsFault())
        core.health.failed(served.slot, FailureCause.Connect, nowMs());
    } else if (actual >= 0 && head.isPushBack) {
      served.pushedBack = true;
      pushBack(core.fleet.states, actual, <f64>head.retryAfterS, nowMs());
    } else if (actual >= 0 && served.status == 429) {
      served.pushedBack = true;
      this.refusals.refused(actual, nowMs());
    } else if (actual >= 0 && served.status == 404 && mayBeAbsent(stream)) {
      core.decider.absent.refused(actual, stream.decision.askedHash, nowMs());
    } else if (actual >= 0 && served.status >= 500 && !served.retried) {
      core.health.failed(actual, FailureCause.Answer, nowMs());
    }
    if (actual >= 0 && head.orcaLen > 0) {
      const reports = this.reports;
      if (reports) reports.carried(actual, head.orcaPtr, head.orcaLen, nowMs());
    }
    stream.phase = Phase.Answering;
    served.complete = endOfStream;
    this.prepareUsage(stream, endOfStream || local);
    this.explain.respond(stream, !local);
  }

  /** A part of the answer: the first is the first token of a stream; the last of them carry the usage. */
  body(stream: Stream, size: i32, endOfStream: bool): void {
    const served = stream.served;
    const usage = stream.usage;
    if (usage) {
      let read = 0;
      while (getPiece(BufferType.ResponseBody, read, size)) {
        read += outLen;
        usage.feed(outPtr, outLen);
      }
      if (stream.decision.isResponses) this.naming.note(stream);
    }
    const isToken = !usage || !served.eventStream || usage.hasBegun;
    const isFirst = isToken && size > 0 && served.firstTokenMs == 0;
    const now = isFirst || endOfStream ? nowMs() : 0;
    if (isFirst) this.firstToken(stream, endOfStream, now);
    if (endOfStream) this.completed(stream, now);
  }

  /** The answer is complete. Taken off its host before its client has the end: what that sends next finds the host as it is. */
  completed(stream: Stream, now: f64): void {
    stream.served.complete = true;
    this.leave(stream, now);
  }

  /** The stream is over. */
  end(stream: Stream): void {
    if (!stream.served.left) this.leave(stream, nowMs());
    this.explain.finished(stream);
  }

  /** Takes the request off its host, once, and learns from it. */
  private leave(stream: Stream, now: f64): void {
    const core = this.core;
    const served = stream.served;
    if (served.isInCrowd) core.decider.crowd.left(stream.decision.key);
    served.isInCrowd = false;
    if (served.slot < 0 || served.left) return;
    served.left = true;
    const usage = stream.usage;
    if (usage) usage.finish();
    const error = errorOf(stream);
    if (served.status > 0) core.fleet.hosts.touch(served.slot, now);
    if (!served.complete && wasReset()) {
      const begun = served.firstTokenMs > 0;
      core.health.failed(served.slot, begun ? FailureCause.BrokenOff : FailureCause.Connect, now);
    } else if (this.gaveUp(stream, now)) {
      core.health.failed(served.slot, FailureCause.Answer, now);
    } else if (error == AnswerError.Server) {
      const begun = usage != null && usage.outputEvents > 0;
      core.health.failed(served.slot, begun ? FailureCause.BrokenOff : FailureCause.Answer, now);
    } else if (error == AnswerError.Busy) {
      this.refusals.refused(served.slot, now);
      core.health.abandoned(served.slot, served.sentMs);
    } else if (served.status == 0 || served.pushedBack || (served.isLocal && served.status < 500)) {
      core.health.abandoned(served.slot, served.sentMs);
    } else if (served.complete && served.status < 500) {
      core.health.succeeded(served.slot, served.sentMs);
      this.refusals.taken(served.slot);
      if (served.status == 200) core.decider.absent.served(served.slot, stream.decision.askedHash);
    }
    const account = core.fleet.account;
    const output = served.firstTokenMs > 0 ? this.feedback.outputTokens(stream) : 0;
    const isStream = stream.decision.isStream;
    if (served.waiting && served.firstTokenMs == 0) {
      account.leftQueue(served.slot, served.generation, served.workMs, isStream, now);
    } else if (served.waiting) {
      account.answered(served.slot, served.generation, served.workMs, isStream, output, now);
    } else {
      account.finished(served.slot, served.generation, served.contextTokens, output, now);
    }
    if (served.complete && served.status == 200 && error == AnswerError.None)
      this.feedback.learn(stream, now);
    this.waiting.wake();
    // An answer in one piece, or none: what was told as waiting no longer is.
    if (served.waiting) this.progressed(stream, now);
  }

  /** Moves the request to the host that really served it, where that isn't the one it was counted on. */
  private settle(stream: Stream, actual: i32): void {
    const core = this.core;
    const served = stream.served;
    const d = stream.decision;
    const enforced = core.config.routing.mode == RoutingMode.Enforce && d.choice.count > 0;
    if (actual >= 0 && enforced && actual == served.slot) this.heed.followed();
    if (actual == NOBODY || actual == served.slot) return;
    const now = nowMs();
    if (enforced) {
      served.fellBack = true;
      d.reason = Reason.Fallback;
      const tries = this.countTries();
      if (tries == 1) {
        if (actual != ELSEWHERE) this.heed.passedOver(d.choice.slots[0], actual);
      } else if (actual != ELSEWHERE) {
        served.retried = true;
        // Whoever stands before the one that served was tried and failed; unless all did: then it is the request's fault.
        const tried = served.status < 500 ? d.choice.count : 0;
        for (let i = 0; i < tried && d.choice.slots[i] != actual; i++) {
          this.tryFailed(d.choice.slots[i], now);
        }
      }
    } else this.countTries();
    if (served.slot >= 0) {
      core.fleet.account.leftQueue(served.slot, served.generation, served.workMs, d.isStream, now);
      core.decider.displace(d, served.slot);
    }
    if (actual == ELSEWHERE) this.dispatcher.lose(stream);
    else this.dispatcher.place(stream, actual, -1, now);
  }

  /**
   * A try at a host failed and Envoy repeated it elsewhere, which tells nobody how it ended: with an answer (429, 5xx) or without
   * one. That a host which is at work said no is back-pressure.
   */
  private tryFailed(slot: i32, now: f64): void {
    const core = this.core;
    const isSaying = this.head.isPushBack;
    if (!isSaying && !core.decider.view.isAtWork(slot, now)) {
      core.health.failed(slot, FailureCause.Connect, now);
    } else if (pushBack(core.fleet.states, slot, isSaying ? <f64>this.head.retryAfterS : 0, now)) {
      core.health.declined(slot, now);
    }
  }

  /** How many hosts Envoy says that it tried, 0 if it doesn't; counts all but the first. */
  private countTries(): i32 {
    if (!getProperty(ATTEMPTS) || outLen != 8) return 0;
    const tries = <i32>min<u64>(load<u64>(outPtr), MAX_TRIES);
    this.core.tries += max(tries - 1, 0);
    return tries;
  }

  /** Whether the client left a host that answers nobody. Of an answer in one piece nothing is seen before its end. */
  private gaveUp(stream: Stream, now: f64): bool {
    const served = stream.served;
    if (served.status != 0 || !stream.decision.isStream) return false;
    return this.core.decider.isOverdue(served.slot, now);
  }

  private prepareUsage(stream: Stream, empty: bool): void {
    const served = stream.served;
    if (empty || served.status != 200 || this.head.isEncoded) return;
    const usage = this.pool.takeUsage();
    if (usage) usage.begin(served.eventStream);
    stream.usage = usage;
  }

  private firstToken(stream: Stream, isLast: bool, now: f64): void {
    const served = stream.served;
    served.firstTokenMs = now;
    // An error is no token, and came in no time.
    const isGood = errorOf(stream) == AnswerError.None;
    if (isGood && served.eventStream && served.status == 200) {
      const ttftMs = now - served.sentMs + stream.decision.queuedMs;
      // Below 0 it would be told as a huge number.
      this.core.stats.ttft.record(<u64>Math.min(Math.max(ttftMs, 0), MAX_TTFT_MS));
    }
    // Headers may come before any work; a first token is proof enough for a trial, which may go on for long.
    if (served.slot >= 0) {
      if (isGood && served.status < 500) this.core.health.proved(served.slot, served.sentMs);
      const inFlight = this.core.fleet.inFlight;
      served.batchAtFirst = <f64>inFlight.totalDecoding(served.slot);
      served.clockAtFirst = inFlight.clockTokens(served.slot);
      if (isGood) this.feedback.first(stream, now);
    }
    // An answer in one piece leaves its host in one step, at the end.
    if (served.slot < 0 || !served.waiting || isLast) return;
    served.waiting = false;
    served.contextTokens = stream.decision.promptTokens;
    this.core.fleet.account.firstToken(
      served.slot,
      served.generation,
      served.workMs,
      stream.decision.isStream,
      served.contextTokens,
      now,
    );
    this.waiting.wake();
    this.progressed(stream, now);
  }

  private progressed(stream: Stream, now: f64): void {
    const d = stream.decision;
    this.peering.progressed(d.promptTokens - d.cachedTokens, stream.id, now);
  }
}

/** The error that an answer with status 200 was found to hold so far. */
function errorOf(stream: Stream): AnswerError {
  const usage = stream.usage;
  return usage ? usage.error : AnswerError.None;
}

/** Whether 404 tells of the model: an answer that is referred to may be known to one server only. */
function mayBeAbsent(stream: Stream): bool {
  return stream.decision.modelHash != 0 && !stream.decision.isResponses;
}
