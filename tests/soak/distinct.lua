-- wrk script: posts prompts that are new from their first word on, and prints what wrk measured as one line of JSON.
local bytes = tonumber(os.getenv("SOAK_BYTES"))
local epoch = tonumber(os.getenv("SOAK_EPOCH"))
local made = 0
local head, front, back

function init(args)
  front = '{"model":"bench-8b","max_tokens":64,"messages":[{"role":"user","content":"'
  back = '"}]}'
  local filler = string.rep("The harbour master wrote the tides of the day into the book. ", math.ceil(bytes / 61))
  back = " " .. filler:sub(1, math.max(0, bytes - #front - #back - 21)) .. back
  head = "POST /v1/chat/completions HTTP/1.1\r\nhost: soak\r\ncontent-type: application/json\r\ncontent-length: "
    .. (#front + 20 + #back) .. "\r\n\r\n"
end

function request()
  made = made + 1
  return head .. front .. string.format("%08d-%011d", epoch, made) .. back
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"requests":%d,"seconds":%.6f,"p50Ms":%.4f,"p99Ms":%.4f,"failed":%d,"refused":%d}\n',
    summary.requests, summary.duration / 1e6,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
