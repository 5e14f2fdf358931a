-- POST /search of fresh queries: three random words of the documents each, for wrk; see docs/serving.md.
-- WORDS is a file with a word a line; BODY adds keys to the body, as in BODY='"k": 20'.
local words, more = {}, os.getenv("BODY")
for line in io.lines(os.getenv("WORDS")) do words[#words + 1] = line end
local started = 0

function setup(thread) -- another seed for each thread
  started = started + 1
  thread:set("seed", started)
end

function init(args)
  math.randomseed(seed)
end

function request()
  local picked = {}
  for i = 1, 3 do picked[i] = words[math.random(#words)] end
  local body = '{"query": "' .. table.concat(picked, " ") .. '"' .. (more and ", " .. more or "") .. "}"
  return wrk.format("POST", "/search", { ["Content-Type"] = "application/json" }, body)
end

function response(status, headers, body)
  if status ~= 200 then print(status, body) end
end
