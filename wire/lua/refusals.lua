-- Part of start.lua: why a destination, or its tenant, takes no start now. Uses the answers that
-- start.lua names.
-- How far ahead a slot is kept, and how long it stays good after its moment: at most 125 % of the
-- rate starts within any second. In milliseconds, as everything here.
local KEEP_AHEAD, SLOT_GOOD = 2000, 250
-- Slots within this hundredth of a second are taken at once: with a high rate nearly all work of a
-- tick would have to ask twice.
local TOGETHER = 10
local ASK_AGAIN = 250

local function free_of(limited)
  local free = limited.free
  if not free then
    free = tonumber(redis.call('GET', 'punctual:rate:' .. limited.name) or '') or 0
  end
  return math.max(now, free)
end

-- Takes or keeps a slot of the rates (GCRA), of the destination and of its tenant at one moment;
-- answers nothing when it may start now.
local function slot_refused(destination, tenant, token, start_by)
  local kept = redis.call('GETDEL', 'punctual:slot:' .. token)
  local slot = kept and tonumber(kept)
  if slot and now < slot then
    redis.call('SET', 'punctual:slot:' .. token, kept, 'PX', string.format('%d', slot - now + 1000))
    return SLOT_KEPT, slot
  end
  if slot and now <= slot + SLOT_GOOD then
    return nil
  end
  local of_destination = destination and free_of(destination) or now
  local of_tenant = tenant and free_of(tenant) or now
  local free = math.max(of_destination, of_tenant)
  slot = math.ceil(free)
  if slot > now + KEEP_AHEAD or slot > start_by then
    return of_tenant > of_destination and TENANT_NO_SLOT or NO_SLOT, slot
  end
  if destination then
    destination.free = free + 1000 / destination.rate
  end
  if tenant then
    tenant.free = free + 1000 / tenant.rate
  end
  if slot > now + TOGETHER then
    redis.call('SET', 'punctual:slot:' .. token, string.format('%d', slot),
               'PX', string.format('%d', slot - now + 1000))
    return SLOT_KEPT, slot
  end
end

local function is_full(limited)
  if not limited.most then
    return false
  end
  if not limited.flying then
    local key = 'punctual:flying:' .. limited.name
    redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%d', now))
    limited.flying = redis.call('ZCARD', key)
  end
  return limited.flying >= limited.most
end

-- Answers why the destination takes no start now, and the moment to ask again; nothing when it does.
local function closed(destination)
  if destination.open_until then
    if now < destination.open_until then
      return CIRCUIT_OPEN, destination.open_until
    end
    if destination.probe ~= '' and now < destination.probe_until then
      return CIRCUIT_OPEN, destination.probe_until
    end
  end
  if is_full(destination) then
    return NO_PLACE, now + ASK_AGAIN
  end
end

-- Answers why neither may start work now, as above, or nothing. A slot is taken last: a refusal must
-- not use it up.
local function refused(destination, tenant, token, start_by)
  local refusal, moment
  if destination then
    refusal, moment = closed(destination)
  end
  if not refusal and tenant and is_full(tenant) then
    return TENANT_NO_PLACE, now + ASK_AGAIN
  end
  local rated = destination and destination.rate and destination
  local tenant_rated = tenant and tenant.rate and tenant
  if not refusal and (rated or tenant_rated) then
    refusal, moment = slot_refused(rated, tenant_rated, token, start_by)
  end
  if refusal and destination and refusal ~= TENANT_NO_SLOT then
    note(destination, moment)
  end
  return refusal, moment
end
