/** Ends long answers of sessions that ended: signed out, expired, or of a user who was disabled. */
import { AnswerWatch } from '@pis/http-api';
import type { SignIn } from '@pis/users';

/** Of the tokens of sessions. */
export class SessionWatch extends AnswerWatch<string> {
  constructor(signIn: Pick<SignIn, 'stillSignedIn'>, onFailure: (error: unknown) => void) {
    super({ stillValid: (tokens) => signIn.stillSignedIn(tokens), onFailure });
  }
}
