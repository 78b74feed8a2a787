-- Decides for a tick's worth of executions, atomically, which may start.
-- KEYS[1] incarnation, then the destinations and limited tenants of the questions, each once. ARGV:
-- incarnation of the message, worker, then of each destination its limits ('' for none, else
-- "breaker,most,rate" as "1,5,2.5"), then of each execution token, start-by (ms) and nonce, and
-- where destinations are named also the number of its own (0: none), with that of its tenant as
-- "3+7" where that is limited, and for how long it may run (ms). The nonce tells a question that is
-- asked again, because its answer was lost, from a second copy of the message.
-- Limits in Redis that have just changed override the given ones. Final refusals are counted.
-- Asking is a sign of life: a worker that was away and starts at once, before its next beat, would
-- be taken for lost and have its work run again.
-- Answers one each: 1 go, 2 go as the probe of a half-open circuit, 3 go in a place of its
-- destination that is to be given back, as that of a probe, 0 void or started already, -1
-- other incarnation, -2 too late; or a pair with a moment (ms): -3 its circuit is open until then,
-- -4 its rate has no slot before, -5 as many as allowed are in flight, ask again then, -6 a slot of
-- its rate is kept for it, ask again then; -7 and -8 are -4 and -5 of its tenant.
local GO, PROBE, PLACED, VOID, STALE, LATE = 1, 2, 3, 0, -1, -2
local CIRCUIT_OPEN, NO_SLOT, NO_PLACE, SLOT_KEPT = -3, -4, -5, -6
local TENANT_NO_SLOT, TENANT_NO_PLACE = -7, -8
local MARKED = 86400

local answers, refusals = {}, 0
local same = redis.call('GET', KEYS[1]) == ARGV[1]
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local places = #KEYS - 1
local changed = places > 0 and redis.call('EXISTS', 'punctual:limits_changed') == 1

-- include: destinations
-- include: refusals
-- include: places

local function judge(i, destination, tenant)
  local token, start_by = ARGV[i], tonumber(ARGV[i + 1])
  local key = 'punctual:guard:' .. token
  local mark = 's:' .. ARGV[2] .. '#' .. ARGV[i + 2]
  if not same then
    return STALE
  elseif now > start_by then
    return LATE
  elseif not destination and not tenant then
    if redis.call('SET', key, mark, 'NX', 'EX', MARKED) or redis.call('GET', key) == mark then
      return GO
    end
    return VOID
  end
  local found = redis.call('GET', key)
  if found then
    return found ~= mark and VOID or destination and destination.probe == token and PROBE
      or (destination and destination.most or tenant and tenant.most) and PLACED or GO
  end
  local refusal, moment = refused(destination, tenant, token, start_by)
  if refusal then
    return { refusal, moment }
  end
  redis.call('SET', key, mark, 'EX', MARKED)
  local runtime = tonumber(ARGV[i + 4])
  local placed = tenant and started(tenant, token, runtime) or GO
  local answer = destination and started(destination, token, runtime) or GO
  return answer == GO and placed or answer
end

-- The destination and the tenant of a question that are checked further.
local function places_of(numbers)
  local number = tonumber(numbers)
  if number then
    return special[number]
  end
  local destination, tenant = string.match(numbers, '^(%d+)%+(%d+)$')
  return special[tonumber(destination)], special[tonumber(tenant)]
end

for i = 3 + places, #ARGV, places > 0 and 5 or 3 do
  local destination, tenant
  if places > 0 then
    destination, tenant = places_of(ARGV[i + 3])
  end
  local answer = judge(i, destination, tenant)
  if answer == VOID or answer == STALE or answer == LATE then
    refusals = refusals + 1
  end
  answers[#answers + 1] = answer
end
for _, destination in pairs(special) do
  keep(destination)
end
redis.call('ZADD', 'punctual:workers', 'XX', 'GT', clock[1] + clock[2] / 1000000, ARGV[2])
if refusals > 0 then
  redis.call('HINCRBY', 'punctual:refused', 'starts', refusals)
end
return answers
