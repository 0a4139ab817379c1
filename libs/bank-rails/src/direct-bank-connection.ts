import { type Bank, type BankConnection, BankRefused, BankUnavailable } from './bank-connection.js';

/** A bank in the same process that can say when its feed has grown. */
export interface InProcessBank extends Bank {
  onNotification(listener: () => void): () => void;
}

/**
 * The connection to a bank in this process. Everything but a clear refusal is reported as BankUnavailable,
 * like on the HTTP connection, so that callers handle both in the same way.
 */
export function directBankConnection(bank: InProcessBank): BankConnection {
  const guarded = async <Result>(call: () => Promise<Result>): Promise<Result> => {
    try {
      return await call();
    } catch (error) {
      if (error instanceof BankRefused || error instanceof BankUnavailable) throw error;
      throw new BankUnavailable('the bank did not answer', { cause: error });
    }
  };
  return {
    terms: bank.terms,
    submit: (instruction) => guarded(() => bank.submit(instruction)),
    inquire: (reference) => guarded(() => bank.inquire(reference)),
    void: (reference) => guarded(() => bank.void(reference)),
    notifications: (page) => guarded(() => bank.notifications(page)),
    onNotification: (listener) => bank.onNotification(listener),
    close: () => Promise.resolve(),
  };
}
