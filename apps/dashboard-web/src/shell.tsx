/** The frame of every page that takes a session: navigation, who is signed in, sign-out. */
import {
  ActionIcon,
  AppShell,
  Badge,
  Burger,
  Button,
  Group,
  NavLink,
  Stack,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
  VisuallyHidden,
} from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import type { Me } from '@pis/dashboard/api';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useMatches, useRouter } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { call } from './api.js';
import { useWaitingApprovals } from './approvals/waiting-approvals.js';
import { Brand } from './brand.js';
import { useLiveUpdates } from './live.js';
import { logoQuery, meQuery, signedOut } from './queries.js';
import { maySee } from './roles.js';
import { LoadFailed, NotForThisRole } from './ui.js';

/** The screens that exist. Which role sees one is said by its route. */
const screens = [
  { path: '/overview', label: 'Overview' },
  { path: '/payments', label: 'Payments' },
  { path: '/approvals', label: 'Approvals' },
  { path: '/contacts', label: 'Contacts' },
  { path: '/originators', label: 'Originators' },
  { path: '/webhooks', label: 'Webhooks' },
  { path: '/api-keys', label: 'API keys' },
  { path: '/users', label: 'Users' },
  { path: '/fees', label: 'Fees' },
  { path: '/statements', label: 'Statements' },
  { path: '/exports', label: 'Exports' },
] as const;

export function Shell() {
  const me = useQuery(meQuery);
  const router = useRouter();
  const isSignedOut = me.data === null;
  useEffect(() => {
    if (!isSignedOut) return;
    const { href } = router.state.location;
    void router.navigate({ to: '/sign-in', search: { next: href }, replace: true });
  }, [isSignedOut, router]);
  // A server that does not answer for a while takes nothing from the screen: a form keeps what was entered.
  if (me.isLoadingError)
    return (
      <main className="sign-in">
        <LoadFailed error={me.error} retry={() => void me.refetch()} />
      </main>
    );
  return me.data ? <Frame key={me.data.userId} me={me.data} /> : null;
}

function Frame({ me }: { readonly me: Me }) {
  useLiveUpdates();
  const { pathname } = useLocation();
  const role = useMatches({ select: (matches) => matches.at(-1)?.staticData.role });
  const [isOpen, { toggle, close }] = useDisclosure(false);
  const opener = useRef<HTMLButtonElement>(null);
  useEffect(close, [pathname, close]);
  const leave = () => {
    close();
    opener.current?.focus();
  };
  return (
    <AppShell
      layout="alt"
      header={{ height: { base: 56, sm: 0 } }}
      navbar={{ width: 232, breakpoint: 'sm', collapsed: { mobile: !isOpen } }}
      padding={{ base: 'md', sm: 'xl' }}
    >
      <AppShell.Header hiddenFrom="sm">
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <OrganizationBrand me={me} />
          <Burger
            ref={opener}
            opened={isOpen}
            onClick={toggle}
            size="sm"
            aria-label="Open the navigation"
            aria-expanded={isOpen}
          />
        </Group>
      </AppShell.Header>
      <AppShell.Navbar
        p="md"
        aria-label="Main"
        className={isOpen ? '' : 'closed'}
        onKeyDown={({ key }) => (isOpen && key === 'Escape' ? leave() : undefined)}
        onBlur={({ currentTarget, relatedTarget }) => {
          // What is behind it must not take the focus unseen.
          if (relatedTarget !== null && !currentTarget.contains(relatedTarget)) close();
        }}
      >
        <Navigation me={me} close={leave} isOpen={isOpen} />
      </AppShell.Navbar>
      <AppShell.Main>
        <div className="page">{maySee(me.role, role) ? <Outlet /> : <NotForThisRole />}</div>
      </AppShell.Main>
    </AppShell>
  );
}

function OrganizationBrand({ me }: { readonly me: Me }) {
  const logo = useQuery(logoQuery);
  return <Brand name={me.organizationName} logo={logo.data ?? null} />;
}

function Navigation({
  me,
  isOpen,
  close,
}: {
  readonly me: Me;
  readonly isOpen: boolean;
  readonly close: () => void;
}) {
  const { pathname } = useLocation();
  const closer = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (isOpen) closer.current?.focus();
  }, [isOpen]);
  const waiting = useWaitingApprovals(me);
  const { routesByPath } = useRouter();
  return (
    <>
      <Group justify="space-between" wrap="nowrap" mb="lg" px={4}>
        <OrganizationBrand me={me} />
        <Burger
          ref={closer}
          hiddenFrom="sm"
          opened={isOpen}
          onClick={close}
          size="sm"
          aria-label="Close the navigation"
        />
      </Group>
      <Stack gap={2} flex={1}>
        {screens
          .filter(({ path }) => maySee(me.role, routesByPath[path].options.staticData?.role))
          .map(({ path, label }) => (
            <NavLink
              key={path}
              component={Link}
              to={path}
              label={label}
              active={pathname === path || pathname.startsWith(`${path}/`)}
              {...(path === '/approvals' && waiting !== null ? countOf(waiting) : {})}
            />
          ))}
      </Stack>
      <SignedInUser me={me} />
    </>
  );
}

function countOf(waiting: string) {
  return {
    rightSection: (
      <Badge size="sm" circle={waiting.length < 2} autoContrast>
        {waiting}
        <VisuallyHidden> waiting for you</VisuallyHidden>
      </Badge>
    ),
  };
}

function SignedInUser({ me }: { readonly me: Me }) {
  const signOut = useMutation({ mutationFn: () => call('signOut'), onSuccess: signedOut });
  return (
    <Stack gap="xs" className="signed-in-user">
      {me.environment === 'sandbox' ? (
        <Badge variant="light" color="yellow" radius="sm" tt="none" w="fit-content">
          Sandbox
        </Badge>
      ) : null}
      <div>
        <Text size="sm" truncate>
          {me.email ?? me.userId}
        </Text>
        <Group gap={6} justify="space-between">
          <Text size="xs" c="dimmed" tt="capitalize">
            {me.role}
          </Text>
          <Link to="/account" className="own-account">
            Your account
          </Link>
        </Group>
      </div>
      <Group gap="xs" wrap="nowrap">
        <Button
          variant="default"
          size="xs"
          flex={1}
          loading={signOut.isPending}
          onClick={() => signOut.mutate()}
        >
          Sign out
        </Button>
        <ColorSchemeSwitch />
      </Group>
    </Stack>
  );
}

function ColorSchemeSwitch() {
  const { setColorScheme } = useMantineColorScheme();
  const scheme = useComputedColorScheme('light');
  const other = scheme === 'dark' ? 'light' : 'dark';
  return (
    <ActionIcon
      variant="default"
      size={30}
      aria-label={`Use ${other} colors`}
      onClick={() => setColorScheme(other)}
    >
      <svg width="14" height="14" viewBox="0 0 16 16" aria-hidden="true">
        <circle cx="8" cy="8" r="6.5" fill="none" stroke="currentColor" strokeWidth="1.5" />
        <path d="M8 1.5a6.5 6.5 0 0 1 0 13z" fill="currentColor" />
      </svg>
    </ActionIcon>
  );
}
