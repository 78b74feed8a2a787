# A receiver of Punctual's webhooks: verifies the signature, drops repeats, answers.
# The standard library only. Run it: WEBHOOK_SECRET=whsec_... PORT=9000 ruby receiver.rb
require "openssl"
require "socket"

SECRET = ENV.fetch("WEBHOOK_SECRET").delete_prefix("whsec_").unpack1("m")
TOLERANCE_SECONDS = 300 # an older request may be a recorded one that is sent again
MAX_BODY = 1024 * 1024
MAX_IDS = 100_000
REASONS = { 200 => "OK", 401 => "Unauthorized", 413 => "Too Large", 500 => "Error", 503 => "Busy" }

# In production a table of your database with webhook-id as its primary key, written in the same
# transaction as what the request changes: this hash does not survive a restart.
SEEN = {}
LOCK = Mutex.new

def genuine?(id, timestamp, signatures, body)
  return false unless timestamp.match?(/\A[0-9]{1,11}\z/)
  return false if (Time.now.to_i - timestamp.to_i).abs > TOLERANCE_SECONDS

  # Of the body exactly as it came: parsing and writing it again changes it.
  digest = OpenSSL::HMAC.digest("SHA256", SECRET, "#{id}.#{timestamp}.".b + body)
  right = "v1," + [digest].pack("m0")
  # During a rotation there are several. secure_compare takes the same time however much is right.
  signatures.split(" ").any? { |one| OpenSSL.secure_compare(one, right) }
end

def handle(id, body)
  puts "work for #{id}: #{body[0, 200]}"
end

def receive(headers, body)
  id = headers.fetch("webhook-id", "")
  signed = [headers.fetch("webhook-timestamp", ""), headers.fetch("webhook-signature", "")]
  # 401 is not retried: only Punctual has the secret.
  return [401, "signature"] if id.empty? || !genuine?(id, *signed, body)

  state = LOCK.synchronize do
    found = SEEN[id]
    SEEN[id] = "working" if found.nil?
    SEEN.shift if SEEN.size > MAX_IDS # the oldest
    found
  end
  return [200, "repeated"] if state == "done" # 2xx: Punctual may stop sending it
  # 503 and not 409: the other call may still fail, so this one must be tried again.
  return [503, "in progress"] if state == "working"

  begin
    handle(id, body)
  rescue StandardError
    LOCK.synchronize { SEEN.delete(id) } # the next attempt has to do it
    return [500, "failed"]
  end
  LOCK.synchronize { SEEN[id] = "done" }
  [200, "done"]
end

def read_headers(client)
  headers = {}
  while (line = client.gets("\r\n", 16_384)) && line != "\r\n"
    name, value = line.split(":", 2)
    headers[name.downcase] = value.to_s.strip
    raise IOError, "too many headers" if headers.size > 100
  end
  headers
end

# In production this is the part that Puma or another server does.
def serve(client)
  while client.gets("\r\n", 16_384)
    headers = read_headers(client)
    length = headers.fetch("content-length", "0").to_i
    status, text = length > MAX_BODY ? [413, "too large"] : receive(headers, client.read(length))
    client.write("HTTP/1.1 #{status} #{REASONS[status]}\r\nContent-Length: #{text.size}\r\n\r\n#{text}")
    break if status == 413
  end
rescue IOError, SystemCallError
  nil # the caller has gone
ensure
  client.close
end

$stdout.sync = true
server = TCPServer.new("127.0.0.1", ENV.fetch("PORT", "9000").to_i)
loop { Thread.new(server.accept) { |client| serve(client) } }
