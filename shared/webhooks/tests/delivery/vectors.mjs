// Computes the headers of each golden vector with Node's own modules: `vectors.mjs FILE`.
import assert from "node:assert";
import { createHmac } from "node:crypto";
import { readFileSync } from "node:fs";

const mac = (key, ...parts) => {
  const hmac = createHmac("sha256", key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
};
const { vectors } = JSON.parse(readFileSync(process.argv[2], "utf8"));
for (const { name, secret, previousSecret, id, timestamp, bodyBase64, headers } of vectors) {
  const body = Buffer.from(bodyBase64, "base64");
  const secrets = previousSecret ? [secret, previousSecret] : [secret];
  const ofBody = secrets.map((secret) => "sha256=" + mac(secret, body).toString("hex"));
  const standard = secrets.map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
    return "v1," + mac(key, `${id}.${timestamp}.`, body).toString("base64");
  });
  const computed = {
    "X-Service-Signature": ofBody[0],
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": standard.join(" "),
    ...(previousSecret && { "X-Service-Signature-Previous": ofBody[1] }),
  };
  assert.deepStrictEqual(computed, headers, name);
}
console.log(vectors.length);
