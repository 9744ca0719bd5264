import { Text, equalBytes, equalsText, lowerEquals, parseDecimal, text } from "../../bytes";
import { Config } from "../../config/config";
import { parsePriority, pathPriority } from "../../admission/priority";
import { isInferencePath } from "../../config/paths";
import {
  HeaderMap,
  pairNameLen,
  pairNamePtr,
  pairValueLen,
  pairValuePtr,
  readPairs,
  removeHeader,
  removeNamed,
} from "../../host/headers";
import { hashBytes, mix } from "../../prefix/hash";

const PATH = text(":path");
const METHOD = text(":method");
const POST = text("POST");
const GET = text("GET");
const CONTENT_TYPE = text("content-type");
const CONTENT_ENCODING = text("content-encoding");
const CONTENT_LENGTH = text("content-length");
const IDENTITY = text("identity");
const REQUEST_TIMEOUT = text("x-request-timeout-ms");
const EXPECTED_TIMEOUT = text("x-envoy-expected-rq-timeout-ms");
const SLO_TTFT = text("x-slo-ttft-ms");
const RESPONSES = text("/responses");
const SLASH: u8 = 0x2f;
const JSON_TYPE = text("json");
/** Names of the filter's own: clients may send only those that the configuration reads. */
const OWN = text("x-warmroute-");

/** What the request's headers say. One a VM, filled for each request and read before the next. */
export class Intake {
  /** POST to an inference path. */
  inference: bool = false;
  /** The body may be read as JSON text: not compressed, not multipart. */
  readable: bool = true;
  /** Hash of the path without query: the API, as far as statistics of answer lengths go. */
  apiHash: u64 = 0;
  /** Path of the Responses API. */
  isResponses: bool = false;
  /** Path without query; valid within the callback that read it. */
  pathPtr: usize = 0;
  pathLen: i32 = 0;
  isGet: bool = false;
  /** Hash of the session header that came first in `affinity.headers`, 0 for none. */
  sessionHash: u64 = 0;
  /** Hash of the tenant header, 0 for none; under `affinity.hash_secret` never 0. It seeds what is kept of the request. */
  tenantHash: u64 = 0;
  /** Declared body size in bytes, −1 unknown. */
  contentLength: i64 = -1;
  /** Hash of the header that names the tenant for fair shares, 0 for none. */
  shareHash: u64 = 0;
  /** −100..100, higher first; whether a header stated it. */
  priority: i32 = 0;
  hasPriority: bool = false;
  /** It brought a routing header, which was removed. */
  isSteered: bool = false;
  /** The client's own deadline for the answer, and its goal for the first token, from now: ms, 0 for none. */
  deadlineMs: f64 = 0;
  goalMs: f64 = 0;
  private isPost: bool = false;
  private isInferencePath: bool = false;
  /** Place in `affinity.headers` of the session found so far. */
  private sessionRank: i32 = 0;

  /**
   * Reads the request's headers, and removes what only the filter may say: every copy of the routing header, and debug headers.
   * @returns false when the headers can't be read
   */
  read(config: Config): bool {
    this.clear();
    const routing = config.routing.header;
    const count = readPairs(HeaderMap.Request);
    if (count < 0) {
      removeHeader(HeaderMap.Request, routing);
      return false;
    }
    this.sessionRank = config.affinity.headers.length;
    for (let i = 0; i < count; i++) {
      const name = pairNamePtr(i);
      const length = pairNameLen(i);
      const value = pairValuePtr(i);
      const size = pairValueLen(i);
      this.takeStandard(config, name, length, value, size);
      if (size > 0) this.takeConfigured(config, name, length, value, size);
      if (equalsText(name, length, routing)) this.isSteered = true;
      else if (length >= OWN.len && equalBytes(name, OWN.len, OWN.ptr, OWN.len)) {
        if (!isRead(config, name, length)) removeNamed(HeaderMap.Request, name, length);
      }
    }
    const secret = config.affinity.hashSecret;
    if (secret.len > 0) this.tenantHash = mix(hashBytes(secret.ptr, secret.len), this.tenantHash);
    if (this.isSteered) removeHeader(HeaderMap.Request, routing);
    this.inference = this.isPost && this.isInferencePath;
    if (!this.hasPriority && this.isInferencePath) {
      this.priority = pathPriority(config.admission, this.pathPtr, this.pathLen);
    }
    return true;
  }

  /**
   * Hash of the id in a path below that of the Responses API, as `/v1/responses/{id}` or `/v1/responses/{id}/cancel`: a request
   * about an answer that its server has stored; 0 for any other. Within the callback that read the path.
   */
  storedIdHash(config: Config): u64 {
    const ptr = this.pathPtr;
    const len = this.pathLen;
    for (let at = 0; at + RESPONSES.len < len; at++) {
      if (!equalBytes(ptr + at, RESPONSES.len, RESPONSES.ptr, RESPONSES.len)) continue;
      const below = at + RESPONSES.len;
      if (load<u8>(ptr + below) != SLASH) continue;
      if (!isInferencePath(config.routing.paths, ptr, below)) continue;
      let end = below + 1;
      while (end < len && load<u8>(ptr + end) != SLASH) end++;
      return end > below + 1 ? hashBytes(ptr + below + 1, end - below - 1) : 0;
    }
    return 0;
  }

  private clear(): void {
    this.inference = false;
    this.readable = true;
    this.apiHash = 0;
    this.isResponses = false;
    this.pathLen = 0;
    this.isGet = false;
    this.isPost = false;
    this.isInferencePath = false;
    this.sessionHash = 0;
    this.tenantHash = 0;
    this.contentLength = -1;
    this.shareHash = 0;
    this.priority = 0;
    this.hasPriority = false;
    this.deadlineMs = 0;
    this.goalMs = 0;
    this.isSteered = false;
  }

  /** A header whose name is fixed. Most are told apart by length alone. */
  @inline
  private takeStandard(config: Config, name: usize, length: i32, value: usize, size: i32): void {
    switch (length) {
      case 5:
        if (equalsText(name, length, PATH)) this.readPath(config, value, size);
        break;
      case 7:
        if (equalsText(name, length, METHOD)) {
          this.isPost = equalsText(value, size, POST);
          this.isGet = equalsText(value, size, GET);
        }
        break;
      case 12:
        if (equalsText(name, length, CONTENT_TYPE)) this.readType(value, size);
        break;
      case 13:
        if (equalsText(name, length, SLO_TTFT)) this.goalMs = durationMs(value, size);
        break;
      case 14:
        if (equalsText(name, length, CONTENT_LENGTH)) {
          this.contentLength = parseDecimal(value, size);
        }
        break;
      case 16:
        if (equalsText(name, length, CONTENT_ENCODING)) {
          if (size > 0 && !lowerEquals(value, size, IDENTITY)) this.readable = false;
        }
        break;
      case 20:
        if (equalsText(name, length, REQUEST_TIMEOUT)) this.readDeadline(value, size);
        break;
      case 30:
        if (equalsText(name, length, EXPECTED_TIMEOUT)) this.readDeadline(value, size);
        break;
    }
  }

  /** A header with a value that the configuration may name: sessions, tenants, the priority. */
  @inline
  private takeConfigured(config: Config, name: usize, length: i32, value: usize, size: i32): void {
    const sessions = config.affinity.headers;
    for (let rank = 0; rank < this.sessionRank; rank++) {
      if (equalsText(name, length, unchecked(sessions[rank]))) {
        this.sessionRank = rank;
        this.sessionHash = hashBytes(value, size);
      }
    }
    const tenant = config.affinity.tenantHeader;
    const share = config.admission.tenantHeader;
    const priority = config.admission.priorityHeader;
    if (tenant.len > 0 && equalsText(name, length, tenant)) {
      this.tenantHash = hashBytes(value, size);
    }
    if (share.len > 0 && equalsText(name, length, share)) {
      this.shareHash = hashBytes(value, size);
    }
    if (priority.len > 0 && equalsText(name, length, priority)) {
      this.priority = parsePriority(value, size);
      this.hasPriority = true;
    }
  }

  /** Of several deadlines the earliest counts. */
  private readDeadline(ptr: usize, len: i32): void {
    const ms = durationMs(ptr, len);
    if (ms > 0 && (this.deadlineMs == 0 || ms < this.deadlineMs)) this.deadlineMs = ms;
  }

  private readPath(config: Config, ptr: usize, len: i32): void {
    let size = 0;
    while (size < len && load<u8>(ptr + size) != 0x3f) size++;
    this.pathPtr = ptr;
    this.pathLen = size;
    this.apiHash = hashBytes(ptr, size);
    const tail = size - RESPONSES.len;
    this.isResponses = tail >= 0 && equalsText(ptr + tail, RESPONSES.len, RESPONSES);
    this.isInferencePath = isInferencePath(config.routing.paths, ptr, len);
  }

  /**
   * Anything but JSON (or no type at all: many clients forget it) is opaque. A charset says nothing: engines don't heed it, and
   * what isn't UTF-8 is no JSON.
   */
  private readType(ptr: usize, len: i32): void {
    if (len == 0 || containsLower(ptr, len, JSON_TYPE)) return;
    if (!containsLower(ptr, len, TEXT_PLAIN) && !containsLower(ptr, len, FORM)) {
      this.readable = false;
    }
  }
}

/** Whether the configuration names this header as one of a client's. */
function isRead(config: Config, name: usize, length: i32): bool {
  const admission = config.admission;
  if (equalsText(name, length, admission.priorityHeader)) return true;
  if (equalsText(name, length, admission.tenantHeader)) return true;
  if (equalsText(name, length, config.affinity.tenantHeader)) return true;
  for (let i = 0; i < config.affinity.headers.length; i++) {
    if (equalsText(name, length, config.affinity.headers[i])) return true;
  }
  return false;
}

/** A header's milliseconds; 0 where it states none. */
function durationMs(ptr: usize, len: i32): f64 {
  const ms = parseDecimal(ptr, len);
  return ms > 0 ? <f64>ms : 0;
}

const TEXT_PLAIN = text("text/plain");
/** What curl -d sends when nobody names the type; engines that don't look at it read the JSON all the same. */
const FORM = text("application/x-www-form-urlencoded");

/** Whether a lower-case text is in bytes of any case. */
function containsLower(ptr: usize, len: i32, lower: Text): bool {
  for (let at = 0; at + lower.len <= len; at++) {
    if (lowerEquals(ptr + at, lower.len, lower)) return true;
  }
  return false;
}
