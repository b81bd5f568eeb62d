// What the server has said about a model, event by event.

const LAST_ROWS = 20;
const MOST_POINTS = 480;
const REFUSALS_SHOWN = 3;
const GAPS = 50; // a line of so many pieces looks smooth

const isKnown = (value) => value !== null && value !== undefined;

export class Seen {
  constructor() {
    this.base = ""; // what the model's paths start with
    this.model = null; // GET /model
    this.now = null; // counts, rates and the error
    this.history = [];
    this.alarms = [];
    this.last = []; // rows, newest first
    this.refused = [];
    this.completeAt = 0; // rows with outcomes, when everything was said last
  }

  /** Take an event in; whether it was one of those that are known. */
  take(event, data) {
    if (event === "state") {
      const { history = [], last = [], alarms = [], ...now } = data;
      Object.assign(this, { now, history, alarms, completeAt: now.error?.n ?? 0 });
      this.setLast(last);
    } else if (event === "tick") {
      const { point, alarms, ...now } = data;
      this.now = now;
      if (alarms) this.alarms = alarms;
      if (point) this.addPoint(point);
    } else if (event === "prediction") this.addRow(data);
    else if (event === "outcome") this.addOutcome(data);
    else if (event === "alarm") this.addAlarm(data);
    else if (event === "refused") this.refused = [data, ...this.refused].slice(0, REFUSALS_SHOWN);
    else return false;
    return true;
  }

  get isOfLabels() {
    return this.model?.task === "classification" || this.now?.error?.name === "share wrong";
  }

  /** Whether rows were left out: of many a second the server shows some, and one point. */
  get isBehind() {
    const n = this.now?.error?.n ?? 0;
    if (n === this.completeAt) return false;
    const waiting = this.last.filter((entry) => !isKnown(entry.target) && isKnown(entry.id)).length;
    if (waiting > (this.now?.waiting ?? waiting)) return true; // their targets came, and were not shown
    const newest = Math.max(
      0,
      ...this.last.filter((entry) => isKnown(entry.target)).map((entry) => entry.row),
    );
    const gap = (this.history.at(-1)?.row ?? n) - (this.history.at(-2)?.row ?? 0);
    return newest < n || gap > Math.max(1, n / GAPS);
  }

  /** Show these rows, without predictions of those whose outcome is among them too. */
  setLast(entries) {
    const answered = new Set(entries.filter((entry) => isKnown(entry.target)).map((entry) => entry.id));
    const isWaiting = (entry) => !isKnown(entry.target) && isKnown(entry.id);
    const wanted = entries.filter((entry) => !isWaiting(entry) || !answered.has(entry.id));
    const key = ({ row, at, id, target }) => JSON.stringify([row, at, id, target]);
    const known = new Map(this.last.map((entry) => [key(entry), entry])); // what is open stays open
    this.last = wanted.slice(0, LAST_ROWS).map((entry) => known.get(key(entry)) ?? entry);
  }

  addPoint(point) {
    if (typeof point.row !== "number" || point.row <= 0) return;
    // A row that was unlearned makes the last points those of rows that are no more.
    const kept = this.history.filter((each) => each.row < point.row);
    const thin = kept.length >= MOST_POINTS ? kept.filter((_, i) => i % 2 === 0) : kept;
    this.history = [...thin, point];
  }

  addRow(entry) {
    this.last = [entry, ...this.last].slice(0, LAST_ROWS);
  }

  addOutcome(entry) {
    const isSame = (each) => each.id === entry.id && !isKnown(each.target);
    const waiting = isKnown(entry.id) ? this.last.find(isSame) : undefined;
    if (waiting) Object.assign(waiting, { ...entry, values: entry.values ?? waiting.values });
    else this.addRow(entry);
  }

  addAlarm(alarm) {
    if (!this.alarms.some((each) => each.row === alarm.row)) this.alarms = [...this.alarms, alarm];
  }
}
