#!/bin/sh
# Creates the secrets of deploy/compose.yaml in deploy/secrets, unless they exist. The certificate is yours: tls_cert and tls_key.
set -eu
umask 077
folder=$(dirname "$0")/secrets
mkdir -p "$folder"
random() { od -An -N24 -tx1 /dev/urandom | tr -d ' \n'; }
create() { [ -e "$folder/$1" ] || printf '%s\n' "$2" > "$folder/$1"; }
create postgres_password "$(random)"
password=$(cat "$folder/postgres_password")
create database_url "postgres://meter:$password@pgbouncer:6432/meter"
create owner_database_url "postgres://meter:$password@postgres:5432/meter"
create pgbouncer_users "\"meter\" \"$password\""
create auth_secret "$(random)"
create metrics_token "$(random)"
# Processes in containers read them as the user 1000.
[ "$(id -u)" != 0 ] || chown -R 1000:1000 "$folder"
