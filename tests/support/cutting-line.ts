/**
 * A TCP line to a server that a test can cut at any byte of an upload. The bytes are encrypted, and the line
 * passes them on unread. It recognizes an upload by its size and by its place after the handshake.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** What becomes of the bytes at the cut. */
export type Cut =
  /** None of them arrives. */
  | { readonly kind: 'before' }
  /** A part of them arrives. The share is from 0 to 1. */
  | { readonly kind: 'middle'; readonly share: number }
  /** All of them arrive. The answer is lost. */
  | { readonly kind: 'after' }
  /** The sender sees a lost connection. All of them arrive later. */
  | { readonly kind: 'late'; readonly lateMs: number };

export interface CutPlan {
  readonly cut: Cut;
  /** Requests of the connection that pass, from the upload on, before the cut. */
  readonly afterRequests: number;
}

export interface CuttingLineOptions {
  readonly targetPort: number;
  /** Requests of a new connection that belong to the handshake. */
  readonly handshakeRequests: number;
  /** A chunk of at least this size is a part of an upload. Other requests are smaller. */
  readonly uploadMinBytes: number;
}

export interface CuttingLine {
  readonly port: number;
  /** Cuts the next upload. Resolves when it is cut. */
  cutNext(plan: CutPlan): Promise<void>;
  /** Resolves in the middle of the next upload. */
  nextUpload(): Promise<void>;
  /** Resolves when no late bytes are under way. */
  quiet(): Promise<void>;
  close(): Promise<void>;
}

/** A request may come in several chunks: late ones are collected for this long. */
const collectMs = 30;
/** Late bytes need an answer for this long at the most. */
const lateAnswerLimitMs = 10_000;

export async function startCuttingLine(options: CuttingLineOptions): Promise<CuttingLine> {
  const shared = new Shared();
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect({ host: '127.0.0.1', port: options.targetPort });
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      // The close that follows says it all.
      socket.on('error', () => undefined);
    }
    new Line(client, upstream, options, shared).serve();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    cutNext: (plan) =>
      new Promise((resolve) => {
        shared.armed.push({ plan, done: resolve });
      }),
    nextUpload: () =>
      new Promise((resolve) => {
        shared.watchers.push(resolve);
      }),
    quiet: () => shared.quiet(),
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

interface Armed {
  readonly plan: CutPlan;
  readonly done: () => void;
}

/** What the connections of a line have in common. */
class Shared {
  readonly armed: Armed[] = [];
  watchers: (() => void)[] = [];
  private readonly late = new Set<Promise<void>>();

  uploading(): void {
    const { watchers } = this;
    this.watchers = [];
    for (const tell of watchers) tell();
  }

  underWay(arrival: Promise<void>): void {
    this.late.add(arrival);
    void arrival.finally(() => this.late.delete(arrival));
  }

  async quiet(): Promise<void> {
    while (this.late.size > 0) await Promise.all(this.late);
  }
}

type State = 'open' | 'answer lost' | 'collecting' | 'over';

/** One connection. */
class Line {
  private state: State = 'open';
  private requests = 0;
  private isServersTurn = true;
  private doom: { readonly armed: Armed; requestsLeft: number } | null = null;
  private readonly collected: Buffer[] = [];

  constructor(
    private readonly client: Socket,
    private readonly upstream: Socket,
    private readonly options: CuttingLineOptions,
    private readonly shared: Shared,
  ) {}

  serve(): void {
    const { client, upstream } = this;
    client.on('data', (chunk: Buffer) => this.fromClient(chunk));
    upstream.on('data', (chunk: Buffer) => this.fromServer(chunk));
    client.on('close', () => {
      if (this.state !== 'collecting') upstream.end();
      // A cut that was not reached is for the next upload.
      if (this.doom !== null && this.state === 'open') this.shared.armed.unshift(this.doom.armed);
      this.doom = null;
    });
    upstream.on('close', () => client.end());
  }

  private fromClient(chunk: Buffer): void {
    const isRequest = this.isServersTurn;
    if (isRequest) this.requests += 1;
    this.isServersTurn = false;
    switch (this.state) {
      case 'over':
        return;
      case 'collecting':
        this.collected.push(chunk);
        return;
      case 'answer lost':
        this.upstream.write(chunk);
        return;
      case 'open':
        this.pass(chunk, isRequest);
    }
  }

  private pass(chunk: Buffer, isRequest: boolean): void {
    const { handshakeRequests, uploadMinBytes } = this.options;
    const { doom } = this;
    if (doom !== null) {
      if (isRequest) doom.requestsLeft -= 1;
    } else if (this.requests > handshakeRequests && chunk.length >= uploadMinBytes) {
      const armed = this.shared.armed.shift();
      if (armed !== undefined) this.doom = { armed, requestsLeft: armed.plan.afterRequests };
      this.shared.uploading();
    }
    if (this.doom !== null && this.doom.requestsLeft <= 0) this.cut(this.doom.armed, chunk);
    else this.upstream.write(chunk);
  }

  private cut({ plan, done }: Armed, chunk: Buffer): void {
    const { client, upstream } = this;
    const { cut } = plan;
    this.doom = null;
    switch (cut.kind) {
      case 'before':
        this.state = 'over';
        upstream.destroy();
        client.destroy();
        break;
      case 'middle':
        this.state = 'over';
        upstream.end(chunk.subarray(0, Math.floor(cut.share * chunk.length)));
        client.destroy();
        break;
      case 'after':
        this.state = 'answer lost';
        upstream.write(chunk);
        break;
      case 'late':
        this.state = 'collecting';
        this.collected.push(chunk);
        this.shared.underWay(this.arriveLate(cut.lateMs));
        break;
    }
    done();
  }

  private async arriveLate(lateMs: number): Promise<void> {
    const { client, upstream } = this;
    await timer(collectMs);
    client.destroy();
    await timer(lateMs);
    const answered = new Promise<void>((resolve) => {
      upstream.once('data', () => resolve());
      upstream.once('close', () => resolve());
    });
    upstream.write(Buffer.concat(this.collected));
    await Promise.race([answered, timer(lateAnswerLimitMs)]);
    this.state = 'over';
    upstream.destroy();
  }

  private fromServer(chunk: Buffer): void {
    this.isServersTurn = true;
    switch (this.state) {
      case 'open':
        this.client.write(chunk);
        return;
      case 'answer lost':
        this.state = 'over';
        this.client.destroy();
        this.upstream.destroy();
        return;
      case 'collecting':
      case 'over':
    }
  }
}

function timer(ms: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
