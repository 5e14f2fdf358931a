-- Random searches by item over the emoji, for wrk; see docs/serving.md.
-- SUFFIX=.json requests JSON instead of pages; FRESH=1 hardly ever requests the same URL twice.
local suffix, fresh = os.getenv("SUFFIX") or "", os.getenv("FRESH")

function init(args)
  math.randomseed(7)
end

function request()
  local path = "/item/" .. math.random(0, 1615) .. suffix
  if fresh then -- the cutoff is that of fusion graphs: it does not change the search
    path = path .. "?cutoff=" .. math.random(1, 100)
  end
  return wrk.format("GET", path)
end
