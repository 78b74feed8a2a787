-- Expires the marks of recorded tokens after a minute: long enough for a doubled message to find
-- them, short enough to bound memory.
-- ARGV: tokens.
for i = 1, #ARGV do
  redis.call('EXPIRE', 'punctual:guard:' .. ARGV[i], 60)
end
return #ARGV
