// Compares lines of cron-cases with cron-parser: expression, time zone, moment, three times.
import { createInterface } from 'node:readline';
import { CronExpressionParser } from 'cron-parser';

let number = 0;
let wrong = 0;
for await (const line of createInterface({ input: process.stdin })) {
  const [expression, tz, after, ...expected] = line.split('\t');
  number += 1;
  const reader = CronExpressionParser.parse(expression, { currentDate: new Date(after), tz });
  const found = expected.map(() => reader.next().toDate().toISOString());
  if (found.join() !== expected.join()) {
    wrong += 1;
    if (wrong <= 20) {
      console.log(`'${expression}' in ${tz} after ${after}: ${expected}, cron-parser: ${found}`);
    }
  }
}
console.log(`cron-parser: ${number} expressions, ${wrong} differ`);
process.exit(wrong > 0 || number === 0 ? 1 : 0);
