-- wrk script: posts the bodies of a folder in turn, each with a new counter in its last message,
-- and prints what wrk measured as one line of JSON.
local bodies = {}
local folder = os.getenv("BENCH_BODIES")
local count = tonumber(os.getenv("BENCH_COUNT"))
local stream = os.getenv("BENCH_STREAM") == "1"
local marker = "00000000"
local made = 0

function init(args)
  for i = 0, count - 1 do
    local file = assert(io.open(folder .. "/" .. i .. ".json", "rb"))
    local text = file:read("*a")
    file:close()
    local at = assert(text:find(marker, #text - 400, true))
    local head = "POST /v1/chat/completions HTTP/1.1\r\nhost: bench\r\n"
      .. "content-type: application/json\r\ncontent-length: " .. #text .. "\r\n"
      .. (stream and "x-bench-stream: 1\r\n" or "") .. "\r\n"
    bodies[i] = { head .. text:sub(1, at - 1), text:sub(at + #marker) }
  end
end

function request()
  local body = bodies[made % count]
  made = made + 1
  return body[1] .. string.format("%08d", made % 100000000) .. body[2]
end

dofile(os.getenv("WRK_RESULT"))
