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

dofile(os.getenv("WRK_RESULT"))
