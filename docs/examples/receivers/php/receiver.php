<?php
// A receiver of Punctual's webhooks: verifies the signature, drops repeats, answers.
// No packages. Run it: WEBHOOK_SECRET=whsec_... php -S 127.0.0.1:9000 receiver.php
declare(strict_types=1);

const TOLERANCE_SECONDS = 300; // an older request may be a recorded one that is sent again
const MAX_BODY = 1024 * 1024;
const MAX_IDS = 100000;

function is_genuine(string $id, string $timestamp, string $signatures, string $body): bool
{
    $secret = base64_decode(preg_replace('/^whsec_/', '', getenv('WEBHOOK_SECRET')));
    if (!preg_match('/\A[0-9]{1,11}\z/', $timestamp)) {
        return false;
    }
    if (abs(time() - (int) $timestamp) > TOLERANCE_SECONDS) {
        return false;
    }
    // Of the body exactly as it came: parsing and writing it again changes it.
    $right = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $secret, true));
    $found = false;
    // During a rotation there are several. hash_equals takes the same time however much is right.
    foreach (explode(' ', $signatures) as $one) {
        $found = hash_equals($right, $one) || $found;
    }
    return $found;
}

function handle(string $id, string $body): void
{
    error_log("work for $id: " . substr($body, 0, 200));
}

// PHP forgets everything after a request, so a file remembers. In production a table of your
// database with webhook-id as its primary key, written in the same transaction as what the
// request changes. Returns null for a new id, which is then "working".
function remember(string $id, ?string $state): ?string
{
    $file = fopen(getenv('SEEN_FILE') ?: sys_get_temp_dir() . '/webhooks-seen.json', 'c+');
    flock($file, LOCK_EX); // released with fclose
    $seen = json_decode(stream_get_contents($file) ?: '{}', true) ?? [];
    $found = $seen[$id] ?? null;
    if ($state === 'forget') {
        unset($seen[$id]);
    } elseif ($found === null || $state === 'done') {
        $seen[$id] = $state ?? 'working';
    }
    $seen = array_slice($seen, -MAX_IDS, null, true); // the oldest go
    ftruncate($file, 0);
    rewind($file);
    fwrite($file, json_encode((object) $seen));
    fclose($file);
    return $found;
}

function receive(string $body): array
{
    $id = $_SERVER['HTTP_WEBHOOK_ID'] ?? '';
    $timestamp = $_SERVER['HTTP_WEBHOOK_TIMESTAMP'] ?? '';
    if (strlen($body) > MAX_BODY) {
        return [413, 'too large'];
    }
    if ($id === '' || !is_genuine($id, $timestamp, $_SERVER['HTTP_WEBHOOK_SIGNATURE'] ?? '', $body)) {
        return [401, 'signature']; // not retried: only Punctual has the secret
    }
    $state = remember($id, null);
    if ($state === 'done') {
        return [200, 'repeated']; // 2xx: Punctual may stop sending it
    }
    if ($state === 'working') {
        // 503 and not 409: the other call may still fail, so this one must be tried again.
        return [503, 'in progress'];
    }
    try {
        handle($id, $body);
    } catch (Throwable $error) {
        remember($id, 'forget'); // the next attempt has to do it
        return [500, 'failed'];
    }
    remember($id, 'done');
    return [200, 'done'];
}

[$status, $text] = receive(file_get_contents('php://input', false, null, 0, MAX_BODY + 1));
http_response_code($status);
echo $text;
