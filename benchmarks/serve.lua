-- Random searches by item over the emoji, for wrk; see docs/serving.md.
-- SUFFIX=.json requests JSON instead of pages; FRESH=1 never requests the same URL twice.
local suffix, fresh = os.getenv("SUFFIX") or "", os.getenv("FRESH")

function init(args)
  math.randomseed(7)
end

function request()
  local path = "/item/" .. math.random(0, 1615) .. suffix
  if fresh then -- the last of a repeated parameter counts
    path = path .. "?k=" .. math.random(1, 1e9) .. "&k=20"
  end
  return wrk.format("GET", path)
end
