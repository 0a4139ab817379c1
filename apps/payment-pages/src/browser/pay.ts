/**
 * Makes the pages of payment links better where JavaScript runs. Without it everything works as well: the form
 * posts itself, and the status page has a link to load it again.
 */
export {};

/** The page's own address, for requests below it. */
const here = location.pathname.replace(/\/$/, '');

/** The server answers sooner. Of two forms that arrive, it takes one. */
const answerMaxMs = 15_000;

function improveForm(form: HTMLFormElement): void {
  const button = form.querySelector<HTMLButtonElement>('button[type=submit]');
  const label = button?.textContent ?? '';
  const enable = () => {
    button?.removeAttribute('aria-disabled');
    if (button) button.textContent = label;
  };
  form.addEventListener('submit', (event) => {
    // A second click would send the form twice.
    if (button?.getAttribute('aria-disabled') === 'true') {
      event.preventDefault();
      return;
    }
    button?.setAttribute('aria-disabled', 'true');
    if (button) button.textContent = form.dataset['submitting'] ?? label;
    // No event tells that the reader stopped the page, as one does without a connection.
    setTimeout(enable, answerMaxMs);
  });
  // The browser shows a page again as it was left.
  addEventListener('pageshow', enable);
  compareAccountNumbers(form);
  showBank(form);
}

function digits(input: HTMLInputElement): string {
  return input.value.replace(/[\s-]/g, '');
}

function inputOf(form: HTMLFormElement, name: string): HTMLInputElement | null {
  return form.querySelector<HTMLInputElement>(`input[name="${name}"]`);
}

function compareAccountNumbers(form: HTMLFormElement): void {
  const first = inputOf(form, 'achAccountNumber');
  const second = inputOf(form, 'achAccountNumberConfirmation');
  const error = document.getElementById('achAccountNumberConfirmation-error');
  if (!first || !second || !error) return;
  const compare = () => {
    const differs = digits(first) !== digits(second);
    error.textContent = differs ? (form.dataset['mismatch'] ?? '') : '';
    second.closest('.field')?.classList.toggle('wrong', differs);
    if (differs) {
      second.setAttribute('aria-invalid', 'true');
      second.setAttribute('aria-describedby', error.id);
    } else {
      second.removeAttribute('aria-invalid');
      second.removeAttribute('aria-describedby');
    }
  };
  // An empty field keeps what the server said about it.
  const blurred = () => {
    if (second.value !== '') compare();
  };
  for (const field of [first, second]) field.addEventListener('blur', blurred);
}

const routingNumberLength = 9;

function showBank(form: HTMLFormElement): void {
  const input = inputOf(form, 'achRoutingNumber');
  const bank = form.querySelector<HTMLElement>('[data-bank]');
  if (!input || !bank) return;
  let asked = '';
  input.addEventListener('input', () => {
    const number = digits(input);
    if (number === asked) return;
    asked = number;
    bank.textContent = '';
    if (number.length !== routingNumberLength) return;
    void nameOf(number).then((name) => {
      if (asked === number && name !== null)
        bank.textContent = `${bank.dataset['label'] ?? ''}: ${name}`;
    });
  });
}

/** Null also if it cannot be found out now: the server checks the number again. */
async function nameOf(routingNumber: string): Promise<string | null> {
  try {
    const answer = await fetch(`${here}/bank?routingNumber=${encodeURIComponent(routingNumber)}`);
    if (!answer.ok) return null;
    const { bankName } = (await answer.json()) as { readonly bankName: string | null };
    return bankName;
  } catch {
    // Offline, for example. The page says nothing then.
    return null;
  }
}

const firstPauseMs = 1_500;
const pauseMaxMs = 30_000;
const pauseFactor = 1.3;
/** A payment is rarely returned, so one that is settled is looked at less often. */
const settledPauseMs = 60_000;

/** Shows each new status, until the link has expired or is unknown: then the page says so, and shows no payment any more. */
function follow(live: HTMLElement): void {
  let pauseMs = firstPauseMs;
  const shown = () => live.querySelector<HTMLElement>('[data-status]')?.dataset;
  const look = async () => {
    if (!document.hidden) {
      const before = shown()?.['status'];
      if (!(await replaceStatus(live))) {
        loadAgain();
        return;
      }
      pauseMs = shown()?.['status'] === before ? pauseMs * pauseFactor : firstPauseMs;
    }
    const settled = shown()?.['settled'] !== undefined;
    setTimeout(() => void look(), settled ? settledPauseMs : Math.min(pauseMs, pauseMaxMs));
  };
  setTimeout(() => void look(), firstPauseMs);
}

/** By GET, also where the page is the answer to a form. A fragment would keep the browser on the page as it is. */
function loadAgain(): void {
  location.replace(`${location.pathname}${location.search}`);
}

const gone = 410;
const unknown = 404;

/** Whether to go on looking. */
async function replaceStatus(live: HTMLElement): Promise<boolean> {
  try {
    const answer = await fetch(`${here}/status?lang=${document.documentElement.lang}`);
    if (answer.status === gone || answer.status === unknown) return false;
    if (!answer.ok) return true;
    const { body } = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const statusOf = (within: HTMLElement) =>
      within.querySelector<HTMLElement>('[data-status]')?.dataset['status'];
    // Only a change is written, so that a screen reader says nothing twice.
    if (statusOf(body) !== undefined && statusOf(body) !== statusOf(live))
      live.replaceChildren(...body.childNodes);
  } catch {
    // Offline, for example: the next look may succeed.
    return true;
  }
  return true;
}

for (const form of document.querySelectorAll<HTMLFormElement>('form[data-bank-details]'))
  improveForm(form);
for (const live of document.querySelectorAll<HTMLElement>('[data-live]')) follow(live);
document.querySelector<HTMLElement>('[data-problems]')?.focus();
