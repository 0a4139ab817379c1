import { startSmtpServer } from '../testing/smtp-server.js';
import { staffChannels } from './staff-channels.js';

it('sends no password to a mail server that offers no TLS', async () => {
  const server = await startSmtpServer();
  try {
    const url = server.url.replace('smtp://', 'smtp://pis:secret@');
    const [email] = staffChannels({ PIS_STAFF_EMAILS: ['ops@example.com'], PIS_SMTP_URL: url });
    const digest = { subject: 'one payment', text: 'in doubt' } as Parameters<
      NonNullable<typeof email>['send']
    >[0];
    await expect(email?.send(digest)).rejects.toThrow();
    expect(server.commands).toContain('EHLO');
    expect(server.commands).not.toContain('AUTH');
    expect(server.mails).toEqual([]);
  } finally {
    await server.close();
  }
});
