-- Random searches by item of the emoji, for wrk; see docs/serving.md.
-- SUFFIX=.json asks for the twins instead of the pages; FRESH=1 never asks for the same address twice.
local suffix, fresh = os.getenv("SUFFIX") or "", os.getenv("FRESH")

function init(args)
  math.randomseed(7)
end

function request()
  local path = "/item/" .. math.random(0, 1615) .. suffix
  return wrk.format("GET", fresh and path .. "?fresh=" .. math.random(0, 1e9) or path)
end
