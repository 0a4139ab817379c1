/** How the findings are told: one line of JSON, or lines for a person. Neither keeps findings in memory. */
import {
  agreeing,
  type Contradiction,
  type Finding,
  type FindingKind,
  findingKinds,
} from './findings.js';
import type { Outcome, Reporter } from './reconciliation.js';

type Say = (text: string) => Promise<void>;

export interface Output extends Reporter {
  /** @returns whether the books agree */
  end(outcome: Outcome): Promise<boolean>;
}

interface Total {
  count: number;
  creditsMinor: bigint;
  debitsMinor: bigint;
}

class Totals {
  contradictions = 0;
  private readonly byKind = new Map<FindingKind, Total>();

  add({ kind, bank, ours }: Finding): void {
    const total = this.byKind.get(kind) ?? { count: 0, creditsMinor: 0n, debitsMinor: 0n };
    const { side, amount } = bank ?? ours ?? { side: 'credit', amount: 0 };
    total.count += 1;
    if (side === 'credit') total.creditsMinor += BigInt(amount);
    else total.debitsMinor += BigInt(amount);
    this.byKind.set(kind, total);
  }

  of(kind: FindingKind): {
    readonly count: number;
    readonly credits: number;
    readonly debits: number;
  } {
    const { count, creditsMinor, debitsMinor } = this.byKind.get(kind) ?? {
      ...{ count: 0, creditsMinor: 0n, debitsMinor: 0n },
    };
    return { count, credits: Number(creditsMinor), debits: Number(debitsMinor) };
  }

  get agrees(): boolean {
    return (
      this.contradictions === 0 &&
      findingKinds.every((kind) => agreeing.includes(kind) || this.of(kind).count === 0)
    );
  }
}

/** `{"matched":[…],"pending":[…],…,"totals":{…}}`. Findings come kind by kind, and are written as they come. */
export class JsonOutput implements Output {
  private readonly totals = new Totals();
  /** A file that contradicts itself in so many places says nothing new. */
  private readonly contradictions: Contradiction[] = [];
  /** How many lists have begun, in the order of the kinds. */
  private begun = 0;

  constructor(private readonly say: Say) {}

  async finding(found: Finding): Promise<void> {
    const at = findingKinds.indexOf(found.kind) + 1;
    if (at < this.begun) throw new Error('findings must come kind by kind');
    const separator = at === this.begun ? ',' : this.listsUpTo(at);
    this.totals.add(found);
    const { kind: _, ...said } = found;
    await this.say(separator + JSON.stringify(said));
  }

  contradiction(found: Contradiction): Promise<void> {
    this.totals.contradictions += 1;
    if (this.contradictions.length < contradictionsMax) this.contradictions.push(found);
    return Promise.resolve();
  }

  async end({ entries, foreign, period }: Outcome): Promise<boolean> {
    const { totals } = this;
    const rest = {
      contradictions: this.contradictions,
      totals: Object.fromEntries(findingKinds.map((kind) => [kind, totals.of(kind)])),
      ...{ entries, foreign, period, agrees: totals.agrees },
    };
    await this.say(`${this.listsUpTo(findingKinds.length)}],${JSON.stringify(rest).slice(1)}\n`);
    return totals.agrees;
  }

  /** Ends the list that is open, and begins those that follow, up to the `count`th. */
  private listsUpTo(count: number): string {
    let text = '';
    for (; this.begun < count; this.begun += 1)
      text += `${this.begun === 0 ? '{' : '],'}"${findingKinds[this.begun] ?? ''}":[`;
    return text;
  }
}

const contradictionsMax = 1_000;

const titles: Readonly<Record<FindingKind, string>> = {
  matched: 'matched',
  pending: 'pending',
  missingAtBank: 'missing at the bank',
  missingHere: 'missing here',
  differing: 'differing',
  duplicates: 'duplicate',
};

/** A line for each finding but the matched ones, then the totals. */
export class LineOutput implements Output {
  private readonly totals = new Totals();

  constructor(private readonly say: Say) {}

  async finding(found: Finding): Promise<void> {
    this.totals.add(found);
    if (found.kind !== 'matched') await this.say(`${lineOf(found)}\n`);
  }

  async contradiction({ file, line, what, stated, found }: Contradiction): Promise<void> {
    this.totals.contradictions += 1;
    await this.say(
      `contradiction: ${file}, line ${line}: ${what} is stated as ${stated}, found ${found}\n`,
    );
  }

  async end({ entries, foreign, period }: Outcome): Promise<boolean> {
    const { totals } = this;
    const days = period === null ? 'no day' : `${period.from} to ${period.to}`;
    await this.say(`entries: ${entries}, of ${days}\n`);
    if (foreign > 0) await this.say(`in other currencies: ${foreign}\n`);
    for (const kind of findingKinds) {
      const { count, credits, debits } = totals.of(kind);
      await this.say(
        `${titles[kind]}: ${count}, credits ${money(credits)}, debits ${money(debits)}\n`,
      );
    }
    await this.say(`contradictions: ${totals.contradictions}\n`);
    await this.say(totals.agrees ? 'the books agree\n' : 'the books do not agree\n');
    return totals.agrees;
  }
}

function lineOf({
  kind,
  reference,
  movement,
  rail,
  paymentId,
  collectionId,
  differs,
  bank,
  ours,
}: Finding): string {
  const id = paymentId ?? collectionId;
  const words = [
    `${titles[kind]}: ${movement} ${reference ?? 'without a reference'}`,
    rail ?? '',
    id === null ? '' : `${paymentId === null ? 'collection' : 'payment'} ${id}`,
    differs.length === 0 ? '' : `(${differs.join(', ')})`,
    bank === null
      ? ''
      : `at the bank ${bank.side} ${money(bank.amount)} ${bank.status} ${bank.bookedOn} in ${bank.file}, line ${bank.line}`,
    ours === null
      ? ''
      : `here ${ours.side} ${money(ours.amount)} ${ours.status}${ours.at === null ? '' : ` ${ours.at}`}`,
  ];
  return words.filter((word) => word !== '').join(' ');
}

function money(minor: number): string {
  return (minor / 100).toLocaleString('en-US', { minimumFractionDigits: 2 });
}
